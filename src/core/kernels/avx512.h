// 64 bytes in one register; a comparison produces the mask directly. For avx512.cpp and avx512vbmi2.cpp.
#pragma once

#include <cstring>

#include "core/kernels/bmi2.h"

namespace cleave {
namespace {

struct Avx512 : Bmi2 {
    using Block = __m512i;
    using Needle = __m512i;

    static Needle needle(std::uint8_t byte) { return _mm512_set1_epi8(static_cast<char>(byte)); }

    static Block load(const std::uint8_t* data) { return _mm512_loadu_si512(data); }

    static std::uint64_t equal(const Block& block, Needle needle) { return _mm512_cmpeq_epi8_mask(block, needle); }

    static void store_equal(const Block& block, Needle needle, std::uint8_t* out) {
        const std::uint64_t mask = equal(block, needle);
        std::memcpy(out, &mask, sizeof mask);
    }

    static constexpr std::size_t kLongSteps = 8;
};

}  // namespace
}  // namespace cleave
