// The marks of a block, step by step, where the true state is known: by one quote rule, or by both as long as they
// start the same records. See kernels/step.h on linkage.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/step.h"

namespace cleave {
namespace {

inline std::size_t step_size(std::size_t left) { return left < kStepSize ? left : kStepSize; }

inline bool is_decided(const Masks<Lane>& masks) { return (masks.candidates & ~masks.before()) == 0; }

inline Lane starts_of(const Masks<Lane>& masks, const Passed<Lane>& before, std::size_t size) {
    const Lane valid = ~Lane{0} >> (kStepSize - size);
    const Lane after_terminator = ((masks.terminators << 1) | (before.terminators >> 63)) & valid;
    return after_terminator & ~masks.pair_ends & ~masks.before();
}

// Keeps the last step in which a quote opens a section.
class LastOpen {
public:
    void take(Lane opens, std::size_t step) {
        step_ = opens != 0 ? step : step_;
        opens_ = opens != 0 ? opens : opens_;
    }
    std::size_t end() const {
        return opens_ == 0 ? 0 : step_ + kStepSize - static_cast<std::size_t>(__builtin_clzll(opens_));
    }

private:
    std::size_t step_ = 0;
    Lane opens_ = 0;
};

// After which bytes of a step two readers go on alike, whatever follows, until there is a byte that the rules differ
// on. `escapes` are those that act for one of them only, as they are passed on: with the last byte in bit 63.
inline Lane agreement(const Masks<Lane>& one, const Masks<Lane>& other, Lane escapes, std::size_t size) {
    const Lane ended = (one.terminators ^ other.terminators) & ~one.inside;
    const Lane valid = ~Lane{0} >> (kStepSize - size);
    return ~((one.inside ^ other.inside) | ended | escapes >> (kStepSize - size)) & valid;
}

template <class Isa, Rules kRule, bool kHasQuote, bool kAnyTerminator, EscapeUse kEscape>
std::size_t mark_by_one(const Markup& markup, const std::uint8_t* data, std::size_t size, Progress& progress,
                        std::uint64_t* starts) {
    Carry& carry = kRule == Rules::kFieldStart ? progress.field_start : progress.anywhere;
    const Finder<Isa, kHasQuote, kAnyTerminator, kEscape> finder(markup);
    Scanner<Isa, Lane, kHasQuote, kAnyTerminator, kEscape> scanner(passed_of(carry));
    LastOpen last_open;
    std::size_t done = 0;
    while (done < size) {
        const std::size_t length = step_size(size - done);
        const auto before = scanner;
        const Masks<Lane> masks = scanner.template step<kRule>(finder.in(data + done, length), length);
        if (!is_decided(masks)) {
            scanner = before;
            break;
        }
        *starts = starts_of(masks, before.passed(), length);
        progress.records += Isa::popcount(*starts++);
        last_open.take(masks.opens & ~masks.before(), done);
        done += length;
    }
    carry = carry_of(scanner.passed());
    progress.open_end = last_open.end();
    return done;
}

template <class Isa, bool kHasQuote, bool kAnyTerminator, EscapeUse kEscape>
std::size_t mark_by_both(const Markup& markup, const std::uint8_t* data, std::size_t size, Progress& progress,
                         std::uint64_t* starts) {
    const Finder<Isa, kHasQuote, kAnyTerminator, kEscape> finder(markup);
    using OneScanner = Scanner<Isa, Lane, kHasQuote, kAnyTerminator, kEscape>;
    OneScanner field_start(passed_of(progress.field_start));
    OneScanner anywhere(passed_of(progress.anywhere));
    bool apart = progress.apart != 0;
    // Where the rules agree and the last byte is a quote, it may be data by field-start alone. If it closed a section
    // by anywhere, a quote that comes next is the second of two by that rule, and opens nothing.
    const Lane by_anywhere = progress.own;
    Lane second = apart ? 0 : by_anywhere & progress.anywhere.after_quote;
    LastOpen last_open;
    std::size_t done = 0;
    while (done < size) {
        const std::size_t length = step_size(size - done);
        const Found<Lane> found = finder.in(data + done, length);
        const OneScanner before = field_start;
        if (!apart) {
            const Masks<Lane> masks = field_start.template step<Rules::kBoth>(found, length);
            if (is_decided(masks)) {
                *starts = starts_of(masks, before.passed(), length);
                progress.records += Isa::popcount(*starts++);
                last_open.take(masks.opens & ~masks.before() & ~second, done);
                second = 0;
                done += length;
                continue;
            }
            field_start = anywhere = before;
        }
        const OneScanner anywhere_before = anywhere;
        const Masks<Lane> one = field_start.template step<Rules::kFieldStart>(found, length);
        const Masks<Lane> other = anywhere.template step<Rules::kAnywhere>(found, length);
        const Lane here = starts_of(one, before.passed(), length);
        if (!is_decided(one) || !is_decided(other) || here != starts_of(other, anywhere_before.passed(), length)) {
            field_start = before;
            anywhere = anywhere_before;
            break;
        }
        *starts++ = here;
        progress.records += Isa::popcount(here);
        const Masks<Lane>& own = progress.own == 0 ? one : other;
        last_open.take(own.opens & ~own.before() & ~second, done);
        const Lane escapes = field_start.passed().escapes ^ anywhere.passed().escapes;
        const Lane agreed = agreement(one, other, escapes, length);
        const bool was_apart = apart;
        apart = agreed >> (length - 1) == 0;
        if (apart && (!was_apart || agreed != 0)) {
            progress.parted = done;
            progress.before_parting[0] = carry_of(before.passed());
            progress.before_parting[1] = carry_of(anywhere_before.passed());
        }
        second = apart ? 0 : by_anywhere & anywhere.passed().toggles >> 63;
        done += length;
    }
    progress.field_start = carry_of(field_start.passed());
    progress.anywhere = carry_of(anywhere.passed());
    if (!apart) progress.anywhere.after_quote = static_cast<std::uint8_t>(second);
    progress.apart = apart ? 1 : 0;
    progress.open_end = last_open.end();
    return done;
}

}  // namespace
}  // namespace cleave
