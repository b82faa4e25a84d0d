// The scan, written once over 64 bytes and compiled once for each instruction set. An ISA file defines `Isa` (see
// kernels/scalar.cpp for what it must offer), includes this file and instantiates make_kernel<Isa>.
//
// Everything here has internal linkage and nothing comes from std: an inline function emitted here with AVX2 code
// could be picked by the linker for callers on machines without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/kernel.h"

namespace cleave {
namespace {

// The masks of one step: of a single run of bytes, or of kLaneCount runs side by side, one in each element. All the
// logic below is written over either.
using Lane = std::uint64_t;
using Lanes [[gnu::vector_size(kLaneCount * sizeof(std::uint64_t))]] = std::uint64_t;

inline Lane all_if_negative(Lane word) { return static_cast<Lane>(static_cast<std::int64_t>(word) >> 63); }
inline Lanes all_if_negative(Lanes words) {
    using Signed [[gnu::vector_size(sizeof(Lanes))]] = std::int64_t;
    return reinterpret_cast<Lanes>(reinterpret_cast<Signed>(words) < 0);
}

// For words without a carry-less product: each shift doubles how far a bit reaches.
template <class Word>
inline Word prefix_xor_by_shifts(Word bits) {
    for (unsigned reach = 1; reach < kStepSize; reach *= 2) bits ^= bits << reach;
    return bits;
}

// For machines without a popcount: sums of two, four and eight bits side by side, gathered by a product.
[[maybe_unused]] inline std::uint64_t popcount_by_adding(std::uint64_t bits) {
    bits -= (bits >> 1) & 0x5555555555555555;
    bits = (bits & 0x3333333333333333) + ((bits >> 2) & 0x3333333333333333);
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0F;
    return bits * 0x0101010101010101 >> 56;
}

// Which bytes follow an escape that acts, by the odd-length runs of escapes; after the addition-carry idea of Langdale
// and Lemire, "Parsing Gigabytes of JSON per Second" (2019), section 3.1.1. Subtracting lets the borrow run through a
// run of escapes, and comparing with the odd bits tells where the run began. `escaped_first` is 0 or 1 and says the
// same of the first byte; `acting` receives the escapes that act.
template <class Word>
inline Word find_escaped(Word escapes, Word escaped_first, Word& acting) {
    const Word odd_bits = Word{} + 0xAAAAAAAAAAAAAAAAULL;
    const Word candidates = escapes & ~escaped_first;
    const Word series = (((candidates << 1) | odd_bits) - candidates) ^ odd_bits;
    acting = series & escapes;
    return series ^ (escapes | escaped_first);
}

// What 64 bytes hold of each byte that matters. Bits past the end of the data are 0.
template <class Word>
struct Found {
    Word terminators, returns, quotes, delimiters, escapes;
};

// What that means if the scan began outside quotes; for the other hypothesis `inside` is its complement.
template <class Word>
struct Masks {
    Word terminators;                                 // of a CRLF pair both bytes, where both terminate
    Word pair_ends;                                   // the LF of such a pair
    Word inside;                                      // inside quotes just after this byte
    Word toggles;                                     // quotes that are not escaped
    Word candidates;                                  // suspect if the byte before it is outside quotes
    Word opens;                                       // toggles that are not the second of two
    Word before() const { return inside ^ toggles; }  // inside quotes just before this byte
};

// What a variant of the scan looks for.
template <class Isa, bool kHasQuote, bool kAnyTerminator, EscapeUse kEscape>
class Finder {
public:
    explicit Finder(const Markup& markup)
        : quote_(Isa::needle(markup.quote)),
          delimiter_(Isa::needle(markup.delimiter)),
          escape_(Isa::needle(markup.escape)),
          terminator_(Isa::needle(markup.terminator)),
          cr_(Isa::needle('\r')) {}

    // Calls put(which, needle) for each member of Found<> that the variant uses.
    template <class Word, class Put>
    void each(Found<Word>& found, const Put& put) const {
        put(found.terminators, terminator_);
        if constexpr (kAnyTerminator) put(found.returns, cr_);
        if constexpr (kHasQuote) put(found.quotes, quote_);
        if constexpr (kHasQuote) put(found.delimiters, delimiter_);
        if constexpr (kEscape != EscapeUse::kNone) put(found.escapes, escape_);
    }

    // 1..64 bytes. Nothing after them is read: fewer than 64 are copied out.
    Found<Lane> in(const std::uint8_t* data, std::size_t size) const {
        std::uint8_t padded[kStepSize] = {};
        if (size < kStepSize) data = static_cast<const std::uint8_t*>(std::memcpy(padded, data, size));
        const typename Isa::Block block = Isa::load(data);
        const Lane valid = ~Lane{0} >> (kStepSize - size);
        Found<Lane> found{};
        each(found, [&](Lane& mask, typename Isa::Needle needle) { mask = Isa::equal(block, needle) & valid; });
        return found;
    }

private:
    typename Isa::Needle quote_, delimiter_, escape_, terminator_, cr_;
};

// What passes from step to step: `inside` is all ones or all zeros, the others are masks of the step before, its last
// byte in bit 63.
template <class Word>
struct Passed {
    Word inside, escapes, edges, terminators, returns, toggles;
};

inline Passed<Lane> passed_of(Carry carry) {
    const auto top = [](std::uint8_t bit) { return Lane{bit} << 63; };
    return {Lane{0} - carry.inside,      top(carry.escaped),  top(carry.field_may_open),
            top(carry.after_terminator), top(carry.after_cr), top(carry.after_quote)};
}

inline Carry carry_of(const Passed<Lane>& passed) {
    const auto top = [](Lane mask) { return static_cast<std::uint8_t>(mask >> 63); };
    return {top(passed.inside),      top(passed.escapes), top(passed.edges),
            top(passed.terminators), top(passed.returns), top(passed.toggles)};
}

inline Passed<Lanes> side_by_side(const Carry* carries) {
    Passed<Lanes> all{};
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
        const Passed<Lane> one = passed_of(carries[lane]);
        all.inside[lane] = one.inside;
        all.escapes[lane] = one.escapes;
        all.edges[lane] = one.edges;
        all.terminators[lane] = one.terminators;
        all.returns[lane] = one.returns;
        all.toggles[lane] = one.toggles;
    }
    return all;
}

inline Passed<Lane> in_lane(const Passed<Lanes>& all, std::size_t lane) {
    return {all.inside[lane],      all.escapes[lane], all.edges[lane],
            all.terminators[lane], all.returns[lane], all.toggles[lane]};
}

// The logic of a variant, in one run of bytes or in several.
template <class Isa, class Word, bool kHasQuote, bool kAnyTerminator, EscapeUse kEscape>
class Scanner {
public:
    explicit Scanner(const Passed<Word>& before) : passed_(before) {}

    const Passed<Word>& passed() const { return passed_; }

    // Takes the next `size` bytes, 64 but for the last step.
    Masks<Word> step(const Found<Word>& found, std::size_t size = kStepSize) {
        const auto align = [size](Word mask) { return mask << (kStepSize - size); };  // last byte to bit 63
        Word escaped{};
        if constexpr (kEscape != EscapeUse::kNone) {
            Word acting{};
            escaped = find_escaped<Word>(found.escapes, passed_.escapes >> 63, acting);
            passed_.escapes = align(acting);
        }
        const Word plain = kEscape == EscapeUse::kEverywhere ? ~escaped : ~Word{};

        Masks<Word> masks{};
        masks.terminators = found.terminators & plain;
        if constexpr (kAnyTerminator) {
            const Word returns = found.returns & plain;
            masks.pair_ends = masks.terminators & follows(returns, passed_.returns);
            masks.terminators |= returns;
            passed_.returns = align(returns);
        }
        passed_.terminators = align(masks.terminators);
        if constexpr (!kHasQuote) return masks;

        masks.toggles = found.quotes & ~escaped;
        masks.inside = prefix_xor(masks.toggles) ^ passed_.inside;
        passed_.inside = all_if_negative(masks.inside);  // bits past the end are as the last one

        const Word edges = (found.delimiters & plain) | masks.terminators | masks.toggles;
        masks.candidates = masks.toggles & ~follows(edges, passed_.edges);
        passed_.edges = align(edges);
        const Word after_quote = follows(masks.toggles, passed_.toggles);
        masks.opens = masks.toggles & ~after_quote;
        passed_.toggles = align(masks.toggles);
        // The fast path lets an escape act wherever it may; these are the places where the rules know better.
        if constexpr (kEscape == EscapeUse::kEverywhere) masks.candidates |= found.escapes & after_quote;
        if constexpr (kEscape == EscapeUse::kQuoted) masks.candidates |= found.quotes & escaped;
        return masks;
    }

private:
    // The mask of the bytes that follow those of `mask`; `previous` is the same mask of the step before.
    static Word follows(Word mask, Word previous) { return (mask << 1) + (previous >> 63); }
    static Lane prefix_xor(Lane bits) { return Isa::prefix_xor(bits); }
    static Lanes prefix_xor(Lanes bits) { return prefix_xor_by_shifts(bits); }

    Passed<Word> passed_;
};

// What was counted in one run of bytes, as its summary. A terminator in the last byte starts a record of the next
// block, one just before the first byte a record here.
inline BlockSummary summary_of(std::uint64_t ends, std::uint64_t ends_outside, std::uint64_t suspect_outside,
                               std::uint64_t suspect_inside, Carry before, Carry after) {
    const std::uint64_t last_inside = after.after_terminator & after.inside;
    const std::uint64_t last_outside = after.after_terminator & (after.inside ^ 1U);
    return BlockSummary{
        {static_cast<std::uint32_t>(before.after_terminator + ends_outside - last_outside),
         static_cast<std::uint32_t>(ends - ends_outside - last_inside)},
        {static_cast<std::uint8_t>(suspect_outside != 0), static_cast<std::uint8_t>(suspect_inside != 0)},
        after.inside};
}

template <class Isa, bool kHasQuote, bool kAnyTerminator, EscapeUse kEscape>
BlockSummary summarise(const Markup& markup, const std::uint8_t* data, std::size_t size, Carry before) {
    before.inside = 0;
    const Finder<Isa, kHasQuote, kAnyTerminator, kEscape> finder(markup);
    Scanner<Isa, Lane, kHasQuote, kAnyTerminator, kEscape> scanner(passed_of(before));
    std::uint64_t ends = 0;
    std::uint64_t ends_outside = 0;
    std::uint64_t suspect_outside = 0;
    std::uint64_t suspect_inside = 0;
    const auto tally = [&](const Masks<Lane>& masks) {
        const std::uint64_t terminators = masks.terminators & ~masks.pair_ends;
        ends += Isa::popcount(terminators);
        ends_outside += Isa::popcount(terminators & ~masks.inside);
        suspect_outside |= masks.candidates & ~masks.before();
        suspect_inside |= masks.candidates & masks.before();
    };
    for (; size >= kStepSize; data += kStepSize, size -= kStepSize) {
        tally(scanner.step(finder.in(data, kStepSize)));
    }
    if (size > 0) tally(scanner.step(finder.in(data, size), size));
    return summary_of(ends, ends_outside, suspect_outside, suspect_inside, before, carry_of(scanner.passed()));
}

// Walks the lanes side by side, so that memory is read in as many streams, and does the logic for all at once. The
// masks go through memory: an element of a vector is cheaper to store than to insert.
template <class Isa, bool kHasQuote, bool kAnyTerminator, EscapeUse kEscape>
void summarise_lanes(const Markup& markup, const std::uint8_t* data, std::size_t lane_size, const Carry* before,
                     BlockSummary* out) {
    constexpr std::size_t kSteps = kLaneUnit / kStepSize;
    Carry outside[kLaneCount];
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
        outside[lane] = before[lane];
        outside[lane].inside = 0;
    }
    const Finder<Isa, kHasQuote, kAnyTerminator, kEscape> finder(markup);
    Scanner<Isa, Lanes, kHasQuote, kAnyTerminator, kEscape> scanner(side_by_side(outside));
    std::uint64_t ends[kLaneCount] = {};
    std::uint64_t ends_outside[kLaneCount] = {};
    Lanes suspect_outside{};
    Lanes suspect_inside{};
    for (std::size_t offset = 0; offset < lane_size; offset += kLaneUnit) {
        Found<Lanes> found[kSteps];
        for (std::size_t step = 0; step < kSteps; ++step) {
            for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
                const typename Isa::Block block = Isa::load(data + lane * lane_size + offset + step * kStepSize);
                finder.each(found[step], [&](Lanes& masks, typename Isa::Needle needle) {
                    Isa::store_equal(block, needle, reinterpret_cast<std::uint8_t*>(&masks) + lane * sizeof(Lane));
                });
            }
        }
        asm volatile("" : : : "memory");  // or the compiler inserts elements after all
        Lanes terminators[kSteps];
        Lanes terminators_outside[kSteps];
        for (std::size_t step = 0; step < kSteps; ++step) {
            const Masks<Lanes> masks = scanner.step(found[step]);
            terminators[step] = masks.terminators & ~masks.pair_ends;
            terminators_outside[step] = terminators[step] & ~masks.inside;
            suspect_outside |= masks.candidates & ~masks.before();
            suspect_inside |= masks.candidates & masks.before();
        }
        asm volatile("" : : : "memory");  // or it extracts them
        for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
            for (std::size_t step = 0; step < kSteps; ++step) {
                ends[lane] += Isa::popcount(terminators[step][lane]);
                ends_outside[lane] += Isa::popcount(terminators_outside[step][lane]);
            }
        }
    }
    for (std::size_t lane = 0; lane < kLaneCount; ++lane) {
        out[lane] = summary_of(ends[lane], ends_outside[lane], suspect_outside[lane], suspect_inside[lane],
                               outside[lane], carry_of(in_lane(scanner.passed(), lane)));
    }
}

template <class Isa, bool kHasQuote, bool kAnyTerminator, EscapeUse kEscape>
std::size_t mark(const Markup& markup, const std::uint8_t* data, std::size_t size, bool stop_at_suspect, Carry& carry,
                 StepMarks* out) {
    const Finder<Isa, kHasQuote, kAnyTerminator, kEscape> finder(markup);
    Scanner<Isa, Lane, kHasQuote, kAnyTerminator, kEscape> scanner(passed_of(carry));
    std::size_t done = 0;
    while (done < size) {
        const std::size_t length = size - done < kStepSize ? size - done : kStepSize;
        const Masks<Lane> masks = scanner.step(finder.in(data + done, length), length);
        if (stop_at_suspect && (masks.candidates & ~masks.before()) != 0) return done;
        const std::uint64_t valid = ~std::uint64_t{0} >> (kStepSize - length);
        const std::uint64_t after_terminator = ((masks.terminators << 1) | carry.after_terminator) & valid;
        *out++ = StepMarks{after_terminator & ~masks.pair_ends & ~masks.before(), masks.opens & ~masks.before()};
        carry = carry_of(scanner.passed());
        done += length;
    }
    return done;
}

template <class Isa, bool kHasQuote, bool kAnyTerminator, EscapeUse kEscape>
constexpr void add_variant(Kernel& kernel) {
    constexpr std::uint8_t kIndex = variant_of(kHasQuote, kAnyTerminator, kEscape);
    kernel.summarise[kIndex] = &summarise<Isa, kHasQuote, kAnyTerminator, kEscape>;
    kernel.summarise_lanes[kIndex] = &summarise_lanes<Isa, kHasQuote, kAnyTerminator, kEscape>;
    kernel.mark[kIndex] = &mark<Isa, kHasQuote, kAnyTerminator, kEscape>;
}

template <class Isa, EscapeUse kEscape>
constexpr void add_variants(Kernel& kernel) {
    add_variant<Isa, false, false, kEscape>(kernel);
    add_variant<Isa, true, false, kEscape>(kernel);
    add_variant<Isa, false, true, kEscape>(kernel);
    add_variant<Isa, true, true, kEscape>(kernel);
}

template <class Isa>
constexpr Kernel make_kernel(const char* name) {
    Kernel kernel{};
    kernel.name = name;
    add_variants<Isa, EscapeUse::kNone>(kernel);
    add_variants<Isa, EscapeUse::kEverywhere>(kernel);
    add_variants<Isa, EscapeUse::kQuoted>(kernel);
    return kernel;
}

}  // namespace
}  // namespace cleave
