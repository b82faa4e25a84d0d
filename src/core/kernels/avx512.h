// 64 bytes in one register; a comparison produces the mask directly. For avx512.cpp and avx512vbmi2.cpp.
#pragma once

#include <immintrin.h>

#include <cstring>

#include "core/kernels/block_scan.h"

namespace cleave {
namespace {

struct Avx512 : AnyIsa {
    using Block = __m512i;
    using Needle = __m512i;

    static Needle needle(std::uint8_t byte) { return _mm512_set1_epi8(static_cast<char>(byte)); }

    static Block load(const std::uint8_t* data) { return _mm512_loadu_si512(data); }

    static std::uint64_t equal(const Block& block, Needle needle) { return _mm512_cmpeq_epi8_mask(block, needle); }

    static void store_equal(const Block& block, Needle needle, std::uint8_t* out) {
        const std::uint64_t mask = equal(block, needle);
        std::memcpy(out, &mask, sizeof mask);
    }

    // A carry-less multiplication by all ones gives the running XOR of the bits up to each bit.
    static std::uint64_t prefix_xor(std::uint64_t bits) {
        const __m128i product =
            _mm_clmulepi64_si128(_mm_set_epi64x(0, static_cast<long long>(bits)), _mm_set1_epi8(-1), 0);
        return static_cast<std::uint64_t>(_mm_cvtsi128_si64(product));
    }

    static std::uint64_t popcount(std::uint64_t bits) { return static_cast<std::uint64_t>(_mm_popcnt_u64(bits)); }

    static constexpr std::size_t kLongSteps = 8;
};

}  // namespace
}  // namespace cleave
