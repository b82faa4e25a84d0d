// Marks the record starts of a block from a known state, step by step. For the linkage, see kernels/step.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/kernels/step.h"

namespace cleave {
namespace {

template <class Word>
inline Word starts_of(const Masks<Word>& masks, const Passed<Word>& before) {
    return follows(masks.terminators, before.terminators) & ~masks.pair_ends & ~masks.before();
}

// The bits that are used in a step of `size` bytes.
inline Lane valid_bits(std::size_t size) { return ~Lane{0} >> (kStepSize - size); }

template <class Isa, Rules kRules, bool kHasQuote, bool kAnyTerminator, EscapeUse kEscape>
std::size_t mark(const Markup& markup, const std::uint8_t* data, std::size_t size, Position& position,
                 std::uint64_t* starts) {
    const Finder<Isa, kHasQuote, kAnyTerminator, kEscape> finder(markup);
    Scanner<Isa, Lane, kHasQuote, kAnyTerminator, kEscape> scanner(passed_of(position.carry));
    std::uint64_t records = position.records;
    // Index 1 holds the last step in which a quote opens a section. Index 0 holds the other steps: it replaces an if,
    // which would become a branch that is hard to predict.
    Lane opens[2] = {0, 0};
    std::size_t opens_step[2] = {0, 0};
    std::size_t done = 0;
    // Processes the next step. If the masks cannot decide the step, changes nothing and returns false.
    const auto take = [&](std::size_t length) __attribute__((always_inline)) {
        const auto before = scanner;
        const Masks<Lane> masks = scanner.template step<kRules>(finder.in(data + done, length), length);
        if ((masks.candidates & ~masks.before()) != 0) {
            scanner = before;
            return false;
        }
        *starts = starts_of(masks, before.passed()) & valid_bits(length);
        records += Isa::popcount(*starts++);
        const Lane opens_here = masks.opens & ~masks.before();
        const std::size_t any = opens_here != 0 ? 1 : 0;
        opens[any] = opens_here;
        opens_step[any] = done;
        done += length;
        return true;
    };
    // The last step is processed separately, because steps whose length the compiler knows need no padding.
    bool is_decided = true;
    while (is_decided && size - done >= kStepSize) is_decided = take(kStepSize);
    if (is_decided && done < size) take(size - done);
    if (opens[1] != 0) {
        const auto last = static_cast<std::uint64_t>(__builtin_clzll(opens[1]));
        position.open_end = position.offset + opens_step[1] + kStepSize - last;
    }
    position.carry = carry_of(scanner.passed());
    position.offset += done;
    position.records = records;
    return done;
}

}  // namespace
}  // namespace cleave
