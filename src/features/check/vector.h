// 16 bytes at a time, for the census. Every x86-64 and every AArch64 has registers of that size.
#pragma once

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <bit>
#include <cstdint>
#include <cstring>

namespace cleave {

using Vector [[gnu::vector_size(16)]] = std::uint8_t;

inline Vector load_vector(const std::uint8_t* bytes) {
    Vector vector;
    std::memcpy(&vector, bytes, sizeof vector);
    return vector;
}

// Bit i is the highest bit of byte i.
inline std::uint32_t high_bits(Vector bytes) {
#ifdef __SSE2__
    return static_cast<std::uint32_t>(_mm_movemask_epi8(std::bit_cast<__m128i>(bytes)));
#else
    std::uint64_t words[2];
    std::memcpy(words, &bytes, sizeof words);
    std::uint32_t bits = 0;
    for (int i = 0; i < 2; ++i) {
        // The multiplication gathers the lowest bits of eight bytes in the highest byte.
        const std::uint64_t ones = words[i] >> 7 & 0x0101010101010101;
        bits |= static_cast<std::uint32_t>(ones * 0x0102040810204080 >> 56) << (8 * i);
    }
    return bits;
#endif
}

}  // namespace cleave
