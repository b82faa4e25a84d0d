// Finds the fields of a block from a known state, step by step: first the masks of a step, then the positions of their
// bits. For the linkage, see kernels/step.h.
//
//   separators = delimiters and terminators outside quotes
//   odd        = bytes on which readers may disagree: stop there
//   for each separator: append its position; for each record start: append a row
//
// To list some of the fields only: which of the next 64 fields are wanted depends on nothing but how many fields of the
// record have ended. These bits, deposited in the separators, leave the wanted ones. The same with the bits of the last
// fields must give the terminators; otherwise a record has another number of fields.
//
// Where LongMasks are worthwhile, 32 steps are processed at once, provided that the dialect has a single terminator and
// that escapes need not be followed from word to word. There are three passes: find the bytes, do the logic, append the
// positions. Masks go from pass to pass through memory. Passes of this length hide the delay between a store and a
// load.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/kernels/block_marks.h"
#include "core/kernels/long_mask.h"
#include "core/kernels/step.h"

namespace cleave {
namespace {

// The bytes of a step on which readers may disagree. A CR or LF in the last byte of a step is checked in the next step.
template <bool kHasQuote, class Word>
inline Word odd_bytes(const Masks<Word>& masks, const Passed<Word>& before, Word line_ends) {
    if constexpr (!kHasQuote) return Word{};
    const Word closing = masks.toggles & ~masks.inside;
    const Word closed_before = before.toggles & ~before.inside;
    const Word after_closing = follows(closing, closed_before);
    return (masks.candidates & ~masks.before()) | (after_closing & ~(masks.walls | masks.toggles | line_ends));
}

template <class Word>
struct FieldMasks {
    Word separators;
    Word starts;     // record starts; if fields are picked, the first bytes of terminators
    Word line_ends;  // with one terminator: the other line break (CR or LF), outside quotes
    Word odd;
};

// The ISA for Kernel::pick_fields.
template <class Isa>
struct Picking : Isa {
    static constexpr bool kPicks = true;
};

// Finds the fields of the bytes passed to a kernel function, and stores the results in `position` and `fields`.
template <class Isa, bool kHasQuote, bool kAnyTerminator, EscapeUse kEscape>
class FieldMarker {
public:
    FieldMarker(const Markup& markup, const std::uint8_t* data, Position& position, FieldList& fields)
        : finder_(markup),
          scanner_(passed_of(position.carry)),
          data_(data),
          base_(static_cast<std::uint32_t>(position.offset)),
          lone_is_odd_(markup.terminator == '\n' ? 0 : ~Lane{0}),
          last_line_end_(Lane{position.carry.after_cr} << 63),
          position_(position),
          fields_(fields),
          end_count_(fields.end_count),
          rows_(fields.rows + fields.row_count) {}

    // Processes as many bytes as it can, and returns how many.
    std::size_t take(std::size_t size) {
        if constexpr (Isa::kLongSteps > 0 && kEscape == EscapeUse::kNone && !kAnyTerminator) take_long(size);
        bool is_taken = true;
        // The last step is processed separately, because steps whose length the compiler knows need no padding.
        while (is_taken && size - done_ >= kStepSize) is_taken = take_step(kStepSize);
        if (is_taken && done_ < size) take_step(size - done_);
        return done_;
    }

    void finish() {
        const auto row_count = static_cast<std::size_t>(rows_ - fields_.rows);
        if constexpr (!Isa::kPicks) position_.records += row_count - fields_.row_count;
        position_.carry = carry_of(scanner_.passed());
        if constexpr (!kAnyTerminator) position_.carry.after_cr = static_cast<std::uint8_t>(last_line_end_ >> 63);
        position_.offset += done_;
        fields_.end_count = end_count_;
        fields_.row_count = row_count;
        if constexpr (Isa::kPicks) fields_.is_uneven = uneven_ != 0;
    }

private:
    template <class Word>
    using ScannerOf = Scanner<Isa, Word, kHasQuote, kAnyTerminator, kEscape>;

    // Advances the scanner. `last_line_end` is FieldMasks::line_ends of the previous step.
    template <class Word>
    static FieldMasks<Word> masks_of(ScannerOf<Word>& scanner, const Found<Word>& found, std::size_t size,
                                     Word last_line_end, Word lone_is_odd) {
        const Passed<Word> before = scanner.passed();
        const Masks<Word> masks = scanner.template step<Rules::kBoth, Target::kFields>(found, size);
        const Word outside = kHasQuote ? ~masks.inside : ~Word{};
        FieldMasks<Word> fields{};
        if constexpr (!kAnyTerminator) {
            // A CR before an LF is part of the terminator. Where CR is the terminator, an LF is always odd.
            fields.line_ends = masks.line_ends & outside;
            const Word after = follows(fields.line_ends, last_line_end);
            fields.odd = (fields.line_ends & lone_is_odd) | (after & ~masks.terminators & ~lone_is_odd);
        }
        fields.odd |= odd_bytes<kHasQuote>(masks, before, fields.line_ends);
        fields.separators = masks.walls & outside & ~masks.pair_ends;
        fields.starts = Isa::kPicks ? masks.terminators & outside : starts_of(masks, before);
        return fields;
    }

    // Processes the next step. If the step contains an odd byte, changes nothing and returns false.
    [[gnu::always_inline]] bool take_step(std::size_t size) {
        const auto before = scanner_;
        const auto masks =
            masks_of<Lane>(scanner_, finder_.in(data_ + done_, size), size, last_line_end_, lone_is_odd_);
        if ((masks.odd & valid_bits(size)) != 0) {
            scanner_ = before;
            return false;
        }
        if constexpr (!kAnyTerminator) last_line_end_ = last_byte_to_top(masks.line_ends, size);
        append(masks.starts & valid_bits(size), masks.separators);
        done_ += size;
        return true;
    }

    // Processes the steps of LongMasks, for as long as there are enough bytes and none of them is odd.
    void take_long(std::size_t size) {
        constexpr std::size_t kBatch = 32 / Isa::kLongSteps;
        constexpr std::size_t kLongSize = Isa::kLongSteps * kStepSize;
        using Long = LongMask<Isa::kLongSteps>;
        ScannerOf<Long> scanner(long_of<Isa::kLongSteps>(scanner_.passed()));
        const Long lone_is_odd = Long::repeated(lone_is_odd_);
        Long last_line_end = Long::repeated(last_line_end_);
        std::size_t even = kBatch;  // how many LongMasks precede the first one with an odd byte
        while (even == kBatch && size - done_ >= kBatch * kLongSize) {
            Found<Long> found[kBatch];
            for (std::size_t i = 0; i < kBatch; ++i) finder_.in_long(data_ + done_ + i * kLongSize, found[i]);
            asm volatile("" : : : "memory");  // otherwise the compiler builds the words by inserting elements
            Long separators[kBatch];
            Long starts[kBatch];
            Long odd[kBatch];
            const auto take = [&] {
                Long any{};
                for (std::size_t i = 0; i < even; ++i) {
                    const auto masks = masks_of<Long>(scanner, found[i], kStepSize, last_line_end, lone_is_odd);
                    last_line_end = masks.line_ends;
                    separators[i] = masks.separators;
                    starts[i] = masks.starts;
                    any |= odd[i] = masks.odd;
                }
                return any;
            };
            const auto before = scanner;
            const Long line_end_before = last_line_end;
            if (take().has_bits()) {
                for (even = 0; !odd[even].has_bits();) ++even;
                scanner = before;
                last_line_end = line_end_before;
                take();
            }
            asm volatile("" : : : "memory");  // otherwise the compiler extracts elements
            for (std::size_t step = 0; step < even * Isa::kLongSteps; ++step, done_ += kStepSize) {
                append(reinterpret_cast<const Lane*>(starts)[step], reinterpret_cast<const Lane*>(separators)[step]);
            }
        }
        scanner_ = ScannerOf<Lane>(last_of(scanner.passed()));
        last_line_end_ = last_line_end.last_word();
    }

    // Appends the rows and the ends of a step.
    void append(Lane starts, Lane separators) {
        const auto base = base_ + static_cast<std::uint32_t>(done_);
        if constexpr (Isa::kPicks) return pick(starts, separators, base);
        for (; starts != 0; starts &= starts - 1) {
            const auto bit = static_cast<unsigned>(__builtin_ctzll(starts));
            const std::uint64_t ends_before = Isa::popcount(separators & ((Lane{1} << bit) - 1));
            *rows_++ = {base + bit, static_cast<std::uint32_t>(end_count_ + ends_before)};
        }
        const std::uint64_t count = Isa::popcount(separators);
        Isa::store_positions(separators, count, base, fields_.ends + end_count_);
        end_count_ += count;
    }

    // Appends the ends that are asked for. As long as all records have the wanted number of fields, `ended_` says how
    // many of the current one have ended. Tables replace popcounts, because on many processors these, deposits and
    // counts of zeros compete for one unit.
    [[gnu::always_inline]] void pick(Lane terminators, Lane separators, std::uint32_t base) {
        const PickWindow& window = fields_.windows[ended_];
        const PickCounts next = fields_.counts[ended_ + Isa::popcount(separators)];
        uneven_ |= Isa::deposit(window.is_last, separators) ^ terminators;
        const std::uint32_t count = next.picked - fields_.counts[ended_].picked;
        Isa::store_few(Isa::deposit(window.picked, separators), count, base, fields_.ends + end_count_);
        end_count_ += count;
        ended_ = next.ended;
    }

    const Finder<Isa, kHasQuote, kAnyTerminator, kEscape, Target::kFields> finder_;
    ScannerOf<Lane> scanner_;
    const std::uint8_t* data_;
    std::size_t done_ = 0;
    std::uint32_t base_;  // offset of data_[0]
    Lane lone_is_odd_;    // with one terminator: all ones if the other line break is always odd
    Lane last_line_end_;  // bit 63: whether the last byte is the other line break
    Position& position_;
    FieldList& fields_;
    std::uint64_t end_count_;
    FieldRow* rows_;
    std::uint64_t ended_ = 0;
    Lane uneven_ = 0;
};

template <class Isa, bool kHasQuote, bool kAnyTerminator, EscapeUse kEscape>
std::size_t mark_fields(const Markup& markup, const std::uint8_t* data, std::size_t size, Position& position,
                        FieldList& fields) {
    FieldMarker<Isa, kHasQuote, kAnyTerminator, kEscape> marker(markup, data, position, fields);
    const std::size_t done = marker.take(size);
    marker.finish();
    return done;
}

}  // namespace
}  // namespace cleave
