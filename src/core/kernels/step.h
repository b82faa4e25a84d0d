// Computes the masks of one 64-byte step from its bytes and from the masks of the previous step. The code is written
// once and works on a 64-bit word, on several words side by side, and on a number of several words
// (kernels/long_mask.h). It uses the primitives of an ISA file (see kernels/scalar.cpp).
//
//   find the quotes, delimiters, terminators and escapes: one mask each, with a bit for every byte
//   drop the bytes that an escape turns into plain data
//   inside = for every byte, whether the number of quotes up to it is odd
//   stray  = a quote that opens a section without following a delimiter, terminator or quote
//   field-start mode: drop the first stray and the quotes after it up to the next delimiter or terminator, and
//       look again; anywhere mode: keep all quotes; both: strays are candidates, at which the modes may diverge
//   tell the next step what the last byte was, and whether it is inside
//
// Everything here has internal linkage and nothing comes from std. If an inline function were emitted here with AVX2
// code, the linker might pick it for callers on machines without AVX2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/kernels/kernel.h"
#include "core/kernels/long_mask.h"

namespace cleave {
namespace {

// The masks of one step: Lane holds those of a single run of bytes, and Lanes those of kLaneCount runs side by side,
// one in each element. The logic below works on both, and on a LongMask, which holds several steps of a single run.
using Lane = std::uint64_t;
using Lanes [[gnu::vector_size(kLaneCount * sizeof(std::uint64_t))]] = std::uint64_t;

// The mask of the bytes right after the bytes in `mask`. `previous` is the same mask for the previous step, with its
// last byte in bit 63.
inline Lane follows(Lane mask, Lane previous) { return (mask << 1) + (previous >> 63); }
inline Lanes follows(Lanes mask, Lanes previous) { return (mask << 1) + (previous >> 63); }

// The mask of a step of `size` bytes, shifted so that the last byte is in bit 63.
inline Lane last_byte_to_top(Lane mask, std::size_t size) { return mask << (kStepSize - size); }
inline Lanes last_byte_to_top(Lanes mask, std::size_t size) { return mask << (kStepSize - size); }

inline Lane all_if_negative(Lane word) { return static_cast<Lane>(static_cast<std::int64_t>(word) >> 63); }
inline Lanes all_if_negative(Lanes words) {
    using Signed [[gnu::vector_size(sizeof(Lanes))]] = std::int64_t;
    return reinterpret_cast<Lanes>(reinterpret_cast<Signed>(words) < 0);
}

// For words without carry-less multiplication. Each shift doubles how far a bit reaches.
template <class Word>
inline Word prefix_xor_by_shifts(Word bits) {
    for (unsigned reach = 1; reach < kStepSize; reach *= 2) bits ^= bits << reach;
    return bits;
}

// For machines without a popcount instruction. Adds up bits in groups of two, four and eight; a multiplication then
// adds up the bytes.
[[maybe_unused]] inline std::uint64_t popcount_by_adding(std::uint64_t bits) {
    bits -= (bits >> 1) & 0x5555555555555555;
    bits = (bits & 0x3333333333333333) + ((bits >> 2) & 0x3333333333333333);
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0F;
    return bits * 0x0101010101010101 >> 56;
}

// Defaults, which an ISA may replace.
struct AnyIsa {
    // The number of steps in a LongMask; 0 if single steps are faster.
    static constexpr std::size_t kLongSteps = 0;

    // Whether the ISA has popcounts(), which returns the popcount of each element.
    static constexpr bool kCountsLanes = false;

    // Whether the ISA has deposit() and store_few(), as in kernels/bmi2.h, and whether only some fields are listed.
    static constexpr bool kCanPick = false;
    static constexpr bool kPicks = false;

    // Stores the positions of the `count` bits that are set, each plus `base`. May write up to 64 words, whatever the
    // count. This version stores eight per iteration, so that the branch is predictable; after Langdale and Lemire (see
    // below), section 3.2.
    static void store_positions(std::uint64_t bits, std::uint64_t count, std::uint32_t base, std::uint32_t* out) {
        constexpr unsigned kBatch = 8;
        const auto store_batch = [&] {
            for (unsigned i = 0; i < kBatch; ++i) {
                // Once no bit is left, __builtin_ctzll(bits) would be undefined. The value is not used then.
                out[i] = base + static_cast<std::uint32_t>(__builtin_ctzll(bits | (std::uint64_t{1} << 63)));
                bits &= bits - 1;
            }
            out += kBatch;
        };
        store_batch();
        for (; count > kBatch; count -= kBatch) store_batch();
    }
};

// The escaped bytes: those that follow an acting escape. They are found from the odd-length runs of escapes, with the
// addition-carry idea of Langdale and Lemire, "Parsing Gigabytes of JSON per Second" (2019), section 3.1.1. Subtracting
// lets the borrow run through a run of escapes, and comparing with the odd bits tells where the run began.
// `escaped_first` is 1 if the first byte is escaped, otherwise 0. `acting` receives the escapes that act.
template <class Word>
inline Word find_escaped(Word escapes, Word escaped_first, Word& acting) {
    const Word odd_bits = Word{} + 0xAAAAAAAAAAAAAAAAULL;
    const Word candidates = escapes & ~escaped_first;
    const Word series = (((candidates << 1) | odd_bits) - candidates) ^ odd_bits;
    acting = series & escapes;
    return series ^ (escapes | escaped_first);
}

// The positions of the bytes with a role among 64 bytes. Bits past the end of the data are 0.
template <class Word>
struct Found {
    Word terminators, returns, quotes, delimiters, escapes;  // returns: CRs; for fields, the other line break
};

// What these bytes mean if the scan began outside quotes. If it began inside, `inside` must be complemented.
template <class Word>
struct Masks {
    Word terminators;                                 // both bytes of a CRLF pair, where both terminate
    Word pair_ends;                                   // the LF of such a pair
    Word inside;                                      // inside quotes just after this byte
    Word toggles;                                     // quotes that are not escaped
    Word candidates;                                  // suspect if they are outside quotes
    Word opens;                                       // toggles that do not directly follow another toggle
    Word walls;                                       // delimiters and terminators, also inside quotes
    Word line_ends;                                   // for fields: CR and LF that are not escaped and do not terminate
    Word before() const { return inside ^ toggles; }  // inside quotes just before this byte
};

// What a scan looks for: record starts, or fields as well.
enum class Target : bool { kRecords, kFields };

// Finds the bytes that a variant of the scan looks for.
template <class Isa, bool kHasQuote, bool kAnyTerminator, EscapeUse kEscape, Target kTarget = Target::kRecords>
class Finder {
public:
    explicit Finder(const Markup& markup)
        : quote_(Isa::needle(markup.quote)),
          delimiter_(Isa::needle(markup.delimiter)),
          escape_(Isa::needle(markup.escape)),
          terminator_(Isa::needle(markup.terminator)),
          other_line_end_(Isa::needle(markup.terminator == '\n' ? '\r' : '\n')) {}

    // Calls put(which, needle) for each member of Found<> that the variant uses.
    template <class Word, class Put>
    void each(Found<Word>& found, const Put& put) const {
        put(found.terminators, terminator_);
        if constexpr (kAnyTerminator || kTarget == Target::kFields) put(found.returns, other_line_end_);
        if constexpr (kHasQuote) put(found.quotes, quote_);
        if constexpr (kHasQuote || kTarget == Target::kFields) put(found.delimiters, delimiter_);
        if constexpr (kEscape != EscapeUse::kNone) put(found.escapes, escape_);
    }

    // Finds the bytes among the bytes of a LongMask. The masks go through memory.
    template <std::size_t kWords>
    void in_long(const std::uint8_t* data, Found<LongMask<kWords>>& found) const {
        for (std::size_t step = 0; step < kWords; ++step) {
            const typename Isa::Block block = Isa::load(data + step * kStepSize);
            each(found, [&](LongMask<kWords>& mask, typename Isa::Needle needle) {
                Isa::store_equal(block, needle, reinterpret_cast<std::uint8_t*>(&mask) + step * sizeof(Lane));
            });
        }
    }

    // Finds the bytes among 1 to 64 bytes. Reads nothing past them: fewer than 64 bytes are copied first.
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
    typename Isa::Needle quote_, delimiter_, escape_, terminator_, other_line_end_;
};

// What is passed from step to step. `inside` is all ones or all zeros; the other members are masks of the previous
// step, with its last byte in bit 63.
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

// The same, converted between single steps and LongMasks.
template <std::size_t kWords>
inline Passed<LongMask<kWords>> long_of(const Passed<Lane>& one) {
    const auto repeated = LongMask<kWords>::repeated;
    return {repeated(one.inside),      repeated(one.escapes), repeated(one.edges),
            repeated(one.terminators), repeated(one.returns), repeated(one.toggles)};
}

template <std::size_t kWords>
inline Passed<Lane> last_of(const Passed<LongMask<kWords>>& all) {
    return {all.inside.last_word(),      all.escapes.last_word(), all.edges.last_word(),
            all.terminators.last_word(), all.returns.last_word(), all.toggles.last_word()};
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

// The logic of a variant, for one run of bytes or for several.
template <class Isa, class Word, bool kHasQuote, bool kAnyTerminator, EscapeUse kEscape>
class Scanner {
public:
    explicit Scanner(const Passed<Word>& before) : passed_(before) {}

    const Passed<Word>& passed() const { return passed_; }

    // Processes the next `size` bytes, 64 except in the last step, in the given quote mode. Under Rules::kBoth the
    // masks are for the anywhere mode, and `candidates` marks the bytes at which the two modes may diverge.
    template <Rules kRules, Target kTarget = Target::kRecords>
    Masks<Word> step(const Found<Word>& found, std::size_t size = kStepSize) {
        const auto align = [size](Word mask) { return last_byte_to_top(mask, size); };
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
        } else if constexpr (kTarget == Target::kFields) {
            masks.line_ends = found.returns & plain;
        }
        passed_.terminators = align(masks.terminators);
        if constexpr (!kHasQuote && kTarget == Target::kRecords) return masks;
        const Word walls = masks.walls = (found.delimiters & plain) | masks.terminators;
        if constexpr (!kHasQuote) return masks;

        masks.toggles = found.quotes & ~escaped;
        masks.inside = prefix_xor(masks.toggles) ^ passed_.inside;
        if constexpr (kRules == Rules::kBoth) masks.candidates = unexplained(masks.toggles, walls);
        if constexpr (kRules == Rules::kFieldStart) drop_strays(walls, masks);

        const Word after_quote = follows(masks.toggles, passed_.toggles);
        masks.opens = masks.toggles & ~after_quote;
        // The masks assume that every escape acts, which may be wrong in two cases. In field-start mode, an escape
        // right after a closing quote does not act. Under EscapeUse::kQuoted, an escape outside quotes does not act;
        // that matters only if a quote follows, and only in anywhere mode, because in field-start mode that quote is
        // data in any case.
        if constexpr (kEscape == EscapeUse::kEverywhere && kRules != Rules::kAnywhere) {
            masks.candidates |= found.escapes & after_quote;
        }
        if constexpr (kEscape == EscapeUse::kQuoted && kRules != Rules::kFieldStart) {
            masks.candidates |= found.quotes & escaped;
        }
        passed_.inside = all_if_negative(masks.inside);  // bits past the end repeat the last one
        passed_.edges = align(walls | masks.toggles);
        passed_.toggles = align(masks.toggles);
        return masks;
    }

private:
    // The quotes that are neither at the start of a field nor right after another quote.
    Word unexplained(Word toggles, Word walls) const { return toggles & ~follows(walls | toggles, passed_.edges); }

    // In field-start mode the first unexplained quote that opens a section is plain data. So are all quotes between it
    // and the next wall, where its field ends. The next quote after that may open or close a section, so the search
    // continues there.
    void drop_strays(Word walls, Masks<Word>& masks) const {
        for (Word strays; (strays = unexplained(masks.toggles, walls) & ~masks.before()) != 0;) {
            const Word first = strays & (~strays + 1);
            const Word beyond = walls & ~(first | (first - 1));
            const Word wall = beyond & (~beyond + 1);
            masks.toggles &= ~(wall - first);
            masks.inside = prefix_xor(masks.toggles) ^ passed_.inside;
        }
    }

    static Lane prefix_xor(Lane bits) { return Isa::prefix_xor(bits); }
    static Lanes prefix_xor(Lanes bits) { return prefix_xor_by_shifts(bits); }
    template <std::size_t kWords>
    static LongMask<kWords> prefix_xor(LongMask<kWords> bits) {
        return prefix_xor_of_long(bits);
    }

    Passed<Word> passed_;
};

}  // namespace
}  // namespace cleave
