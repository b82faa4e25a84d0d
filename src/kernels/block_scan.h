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

// For machines without a carry-less product: each shift doubles how far a bit reaches.
[[maybe_unused]] inline std::uint64_t prefix_xor_by_shifts(std::uint64_t bits) {
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
inline std::uint64_t find_escaped(std::uint64_t escapes, std::uint64_t escaped_first, std::uint64_t& acting) {
    constexpr std::uint64_t kOddBits = 0xAAAAAAAAAAAAAAAAULL;
    const std::uint64_t candidates = escapes & ~escaped_first;
    const std::uint64_t series = (((candidates << 1) | kOddBits) - candidates) ^ kOddBits;
    acting = series & escapes;
    return series ^ (escapes | escaped_first);
}

// One variant of the scan: the needles, and the state that passes from step to step.
template <class Isa, bool kHasQuote, bool kAnyTerminator, EscapeUse kEscape>
class Scanner {
public:
    // What 64 bytes hold if the scan began outside quotes; for the other hypothesis `inside` is its complement.
    struct Masks {
        std::uint64_t terminators;                                 // of a CRLF pair both bytes, where both terminate
        std::uint64_t pair_ends;                                   // the LF of such a pair
        std::uint64_t inside;                                      // inside quotes just after this byte
        std::uint64_t toggles;                                     // quotes that are not escaped
        std::uint64_t candidates;                                  // suspect if the byte before it is outside quotes
        std::uint64_t opens;                                       // toggles that are not the second of two
        std::uint64_t before() const { return inside ^ toggles; }  // inside quotes just before this byte
    };

    Scanner(const Markup& markup, Carry carry)
        : quote_(Isa::needle(markup.quote)),
          delimiter_(Isa::needle(markup.delimiter)),
          escape_(Isa::needle(markup.escape)),
          terminator_(Isa::needle(markup.terminator)),
          cr_(Isa::needle('\r')),
          inside_(std::uint64_t{0} - carry.inside),
          acting_(from_bit(carry.escaped)),
          edges_(from_bit(carry.field_may_open)),
          terminators_(from_bit(carry.after_terminator)),
          returns_(from_bit(carry.after_cr)),
          toggles_(from_bit(carry.after_quote)) {}

    Carry carry() const {
        return Carry{to_bit(inside_),      to_bit(acting_),  to_bit(edges_),
                     to_bit(terminators_), to_bit(returns_), to_bit(toggles_)};
    }

    Masks step(const std::uint8_t* data) { return step_over(Isa::load(data), kStepSize); }

    // The same for 1..63 bytes at the end of the data: they are copied out, so that nothing after them is read.
    Masks partial_step(const std::uint8_t* data, std::size_t size) {
        std::uint8_t padded[kStepSize] = {};
        std::memcpy(padded, data, size);
        return step_over(Isa::load(padded), size);
    }

private:
    static std::uint64_t from_bit(std::uint8_t bit) { return std::uint64_t{bit} << 63; }
    static std::uint8_t to_bit(std::uint64_t mask) { return static_cast<std::uint8_t>(mask >> 63); }
    // The mask of the bytes that follow those of `mask`; `previous` is the same mask of the step before.
    static std::uint64_t follows(std::uint64_t mask, std::uint64_t previous) { return (mask << 1) + (previous >> 63); }

    Masks step_over(const typename Isa::Block& block, std::size_t size) {
        const std::uint64_t valid = ~std::uint64_t{0} >> (kStepSize - size);
        const auto align = [size](std::uint64_t mask) { return mask << (kStepSize - size); };  // last byte to bit 63
        const auto find = [&](typename Isa::Needle needle) { return Isa::equal(block, needle) & valid; };

        std::uint64_t escapes = 0;
        std::uint64_t escaped = 0;
        if constexpr (kEscape != EscapeUse::kNone) {
            escapes = find(escape_);
            std::uint64_t acting = 0;
            escaped = find_escaped(escapes, acting_ >> 63, acting);
            acting_ = align(acting);
        }
        const std::uint64_t plain = kEscape == EscapeUse::kEverywhere ? ~escaped : ~std::uint64_t{0};

        Masks masks{};
        masks.terminators = find(terminator_) & plain;
        if constexpr (kAnyTerminator) {
            const std::uint64_t returns = find(cr_) & plain;
            masks.pair_ends = masks.terminators & follows(returns, returns_);
            masks.terminators |= returns;
            returns_ = align(returns);
        }
        terminators_ = align(masks.terminators);
        if constexpr (!kHasQuote) return masks;

        const std::uint64_t quotes = find(quote_);
        masks.toggles = quotes & ~escaped;
        masks.inside = Isa::prefix_xor(masks.toggles) ^ inside_;
        inside_ = static_cast<std::uint64_t>(static_cast<std::int64_t>(align(masks.inside)) >> 63);

        const std::uint64_t edges = (find(delimiter_) & plain) | masks.terminators | masks.toggles;
        masks.candidates = masks.toggles & ~follows(edges, edges_);
        edges_ = align(edges);
        const std::uint64_t after_quote = follows(masks.toggles, toggles_);
        masks.opens = masks.toggles & ~after_quote;
        toggles_ = align(masks.toggles);
        // The fast path lets an escape act wherever it may; these are the places where the rules know better.
        if constexpr (kEscape == EscapeUse::kEverywhere) masks.candidates |= escapes & after_quote;
        if constexpr (kEscape == EscapeUse::kQuoted) masks.candidates |= quotes & escaped;
        return masks;
    }

    typename Isa::Needle quote_, delimiter_, escape_, terminator_, cr_;
    std::uint64_t inside_;  // all ones or all zeros
    // The masks of the step before, its last byte in bit 63.
    std::uint64_t acting_, edges_, terminators_, returns_, toggles_;
};

// Counts what a scanner finds, for both hypotheses.
template <class Isa>
struct Tally {
    std::uint64_t ends = 0;
    std::uint64_t ends_outside = 0;
    std::uint64_t suspect[2] = {0, 0};

    template <class Masks>
    void add(const Masks& masks) {
        const std::uint64_t terminators = masks.terminators & ~masks.pair_ends;
        ends += Isa::popcount(terminators);
        ends_outside += Isa::popcount(terminators & ~masks.inside);
        suspect[0] |= masks.candidates & ~masks.before();
        suspect[1] |= masks.candidates & masks.before();
    }
};

template <class Isa, bool kHasQuote, bool kAnyTerminator, EscapeUse kEscape>
BlockSummary summarise(const Markup& markup, const std::uint8_t* data, std::size_t size, Carry before) {
    before.inside = 0;
    Scanner<Isa, kHasQuote, kAnyTerminator, kEscape> scanner(markup, before);
    Tally<Isa> tally;
    const std::uint8_t* const whole_end = data + size / kStepSize * kStepSize;
    for (; data != whole_end; data += kStepSize) tally.add(scanner.step(data));
    if (size % kStepSize != 0) tally.add(scanner.partial_step(data, size % kStepSize));

    // A terminator in the last byte starts a record of the next block, one just before the first byte a record here.
    const Carry after = scanner.carry();
    const std::uint64_t ends_inside = tally.ends - tally.ends_outside;
    const unsigned ends_last_inside = after.after_terminator & after.inside;
    const unsigned ends_last_outside = after.after_terminator & (after.inside ^ 1U);
    return BlockSummary{
        {static_cast<std::uint32_t>(before.after_terminator + tally.ends_outside - ends_last_outside),
         static_cast<std::uint32_t>(ends_inside - ends_last_inside)},
        {static_cast<std::uint8_t>(tally.suspect[0] != 0), static_cast<std::uint8_t>(tally.suspect[1] != 0)},
        after.inside};
}

template <class Isa, bool kHasQuote, bool kAnyTerminator, EscapeUse kEscape>
std::size_t mark(const Markup& markup, const std::uint8_t* data, std::size_t size, bool stop_at_suspect, Carry& carry,
                 StepMarks* out) {
    Scanner<Isa, kHasQuote, kAnyTerminator, kEscape> scanner(markup, carry);
    std::size_t done = 0;
    while (done < size) {
        const std::size_t length = size - done < kStepSize ? size - done : kStepSize;
        const auto masks = length == kStepSize ? scanner.step(data + done) : scanner.partial_step(data + done, length);
        if (stop_at_suspect && (masks.candidates & ~masks.before()) != 0) return done;
        const std::uint64_t valid = ~std::uint64_t{0} >> (kStepSize - length);
        const std::uint64_t after_terminator = ((masks.terminators << 1) | carry.after_terminator) & valid;
        *out++ = StepMarks{after_terminator & ~masks.pair_ends & ~masks.before(), masks.opens & ~masks.before()};
        carry = scanner.carry();
        done += length;
    }
    return done;
}

template <class Isa, bool kHasQuote, bool kAnyTerminator, EscapeUse kEscape>
constexpr void add_variant(Kernel& kernel) {
    constexpr std::uint8_t kIndex = variant_of(kHasQuote, kAnyTerminator, kEscape);
    kernel.summarise[kIndex] = &summarise<Isa, kHasQuote, kAnyTerminator, kEscape>;
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
