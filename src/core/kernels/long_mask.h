// The masks of eight consecutive steps as one 512-bit number: bit i of word w is for byte 64 w + i. It has the
// operations that Scanner needs, so the logic of eight steps costs little more than the logic of one. This is
// worthwhile where a register holds all 512 bits; with AVX2, moving bits between words costs more than it saves. For
// the linkage, see kernels/step.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/kernels/kernel.h"

namespace cleave {
namespace {

constexpr std::size_t kLongSteps = 8;
constexpr std::size_t kLongSize = kLongSteps * kStepSize;

using LongWords [[gnu::vector_size(kLongSteps * sizeof(std::uint64_t))]] = std::uint64_t;

struct LongMask {
    LongWords words;

    LongMask& operator|=(LongMask other) {
        words |= other.words;
        return *this;
    }
    LongMask& operator&=(LongMask other) {
        words &= other.words;
        return *this;
    }
    LongMask operator~() const { return {~words}; }
    friend LongMask operator|(LongMask a, LongMask b) { return {a.words | b.words}; }
    friend LongMask operator&(LongMask a, LongMask b) { return {a.words & b.words}; }
    friend LongMask operator^(LongMask a, LongMask b) { return {a.words ^ b.words}; }
};

// A mask in which every word is `word`.
inline LongMask repeated(std::uint64_t word) { return {LongWords{} + word}; }

// The last word, which carries over to the next bytes.
inline std::uint64_t last_word(LongMask mask) { return mask.words[kLongSteps - 1]; }

inline bool has_bits(LongMask mask) {
    std::uint64_t any = 0;
    for (std::size_t i = 0; i < kLongSteps; ++i) any |= mask.words[i];
    return any != 0;
}

// The words moved up by kCount elements, with the last words of `previous` filling the gap.
template <int kCount>
inline LongWords move_up(LongWords words, LongWords previous) {
    static_assert(kLongSteps == 8);
    return __builtin_shufflevector(previous, words, 8 - kCount, 9 - kCount, 10 - kCount, 11 - kCount, 12 - kCount,
                                   13 - kCount, 14 - kCount, 15 - kCount);
}

inline LongMask follows(LongMask mask, LongMask previous) {
    return {(mask.words << 1) | (move_up<1>(mask.words, previous.words) >> 63)};
}

// The last byte is already the last bit.
inline LongMask last_byte_to_top(LongMask mask, std::size_t) { return mask; }

inline LongWords all_if_negative(LongWords words) {
    using Signed [[gnu::vector_size(sizeof(LongWords))]] = std::int64_t;
    return reinterpret_cast<LongWords>(reinterpret_cast<Signed>(words) < 0);
}

// All ones if the last bit is set, otherwise all zeros.
inline LongMask all_if_negative(LongMask mask) {
    const LongWords signs = all_if_negative(mask.words);
    return {__builtin_shufflevector(signs, signs, 7, 7, 7, 7, 7, 7, 7, 7)};
}

// The prefix XOR is computed within each word first. Then each word is inverted if the words below it have an odd
// number of set bits in total.
inline LongMask prefix_xor_of_long(LongMask mask) {
    LongWords bits = mask.words;
    for (unsigned reach = 1; reach < kStepSize; reach *= 2) bits ^= bits << reach;
    LongWords odd = move_up<1>(all_if_negative(bits), LongWords{});
    odd ^= move_up<1>(odd, LongWords{});
    odd ^= move_up<2>(odd, LongWords{});
    odd ^= move_up<4>(odd, LongWords{});
    return {bits ^ odd};
}

}  // namespace
}  // namespace cleave
