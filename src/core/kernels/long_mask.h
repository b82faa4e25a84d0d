// The masks of consecutive steps as one number of as many words as a register holds, eight or four: bit i of word w is
// for byte 64 w + i. It has the operations that Scanner needs, so the logic of these steps costs little more than the
// logic of one. For the linkage, see kernels/step.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/kernels/kernel.h"

namespace cleave {
namespace {

// Apart from LongMask, because GCC ignores [[gnu::vector_size]] if the size depends on a parameter.
template <std::size_t kWords>
struct WordsOf;
template <>
struct WordsOf<4> {
    using Type [[gnu::vector_size(32)]] = std::uint64_t;
};
template <>
struct WordsOf<8> {
    using Type [[gnu::vector_size(64)]] = std::uint64_t;
};

template <std::size_t kWords>
struct LongMask {
    using Words = typename WordsOf<kWords>::Type;
    using Signed = decltype(Words{} == Words{});

    Words words;

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

    // A mask in which every word is `word`.
    static LongMask repeated(std::uint64_t word) { return {Words{} + word}; }
    // The last word, which carries over to the next bytes.
    std::uint64_t last_word() const { return words[kWords - 1]; }
    bool has_bits() const {
        std::uint64_t any = 0;
        for (std::size_t i = 0; i < kWords; ++i) any |= words[i];
        return any != 0;
    }
    // The words moved up by kCount elements, with the last words of `previous` filling the gap.
    template <int kCount>
    LongMask moved_up(Words previous = Words{}) const {
        static_assert(kWords == 4 || kWords == 8);
        constexpr int kFirst = kWords - kCount;
        if constexpr (kWords == 4) {
            return {__builtin_shufflevector(previous, words, kFirst, kFirst + 1, kFirst + 2, kFirst + 3)};
        } else {
            return {__builtin_shufflevector(previous, words, kFirst, kFirst + 1, kFirst + 2, kFirst + 3, kFirst + 4,
                                            kFirst + 5, kFirst + 6, kFirst + 7)};
        }
    }
    // All ones in each word whose last bit is set, otherwise all zeros.
    LongMask signs() const { return {reinterpret_cast<Words>(reinterpret_cast<Signed>(words) < 0)}; }
};

template <std::size_t kWords>
inline LongMask<kWords> follows(LongMask<kWords> mask, LongMask<kWords> previous) {
    return {(mask.words << 1) | (mask.template moved_up<1>(previous.words).words >> 63)};
}

// The last byte is already the last bit.
template <std::size_t kWords>
inline LongMask<kWords> last_byte_to_top(LongMask<kWords> mask, std::size_t) {
    return mask;
}

// All ones if the last bit is set, otherwise all zeros.
template <std::size_t kWords>
inline LongMask<kWords> all_if_negative(LongMask<kWords> mask) {
    const auto signs = mask.signs().words;
    if constexpr (kWords == 4) return {__builtin_shufflevector(signs, signs, 3, 3, 3, 3)};
    if constexpr (kWords == 8) return {__builtin_shufflevector(signs, signs, 7, 7, 7, 7, 7, 7, 7, 7)};
}

// The prefix XOR is computed within each word first. Then each word is inverted if the words below it have an odd
// number of set bits in total.
template <std::size_t kWords>
inline LongMask<kWords> prefix_xor_of_long(LongMask<kWords> mask) {
    auto bits = mask.words;
    bits ^= bits << 1;  // written out, because GCC keeps a loop whose shift is not a constant
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    bits ^= bits << 32;
    LongMask<kWords> odd = LongMask<kWords>{bits}.signs().template moved_up<1>();
    odd = odd ^ odd.template moved_up<1>();
    odd = odd ^ odd.template moved_up<2>();
    if constexpr (kWords == 8) odd = odd ^ odd.template moved_up<4>();
    return LongMask<kWords>{bits} ^ odd;
}

}  // namespace
}  // namespace cleave
