// What the kernels for AVX2 and AVX-512 have in common. Compiled with at least -mavx2 -mbmi -mbmi2 -mpopcnt -mpclmul.
#pragma once

#include <immintrin.h>

#include "core/kernels/block_scan.h"

namespace cleave {
namespace {

struct Bmi2 : AnyIsa {
    // A carry-less multiplication by all ones gives the running XOR of the bits up to each bit.
    static std::uint64_t prefix_xor(std::uint64_t bits) {
        const __m128i product =
            _mm_clmulepi64_si128(_mm_set_epi64x(0, static_cast<long long>(bits)), _mm_set1_epi8(-1), 0);
        return static_cast<std::uint64_t>(_mm_cvtsi128_si64(product));
    }

    static std::uint64_t popcount(std::uint64_t bits) { return static_cast<std::uint64_t>(_mm_popcnt_u64(bits)); }

    static constexpr bool kCanPick = true;

    // Puts the lowest bits of `from` where the bits of `mask` are set.
    static std::uint64_t deposit(std::uint64_t from, std::uint64_t mask) { return _pdep_u64(from, mask); }

    // Does what store_positions() does, but faster where few bits are set.
    static void store_few(std::uint64_t bits, std::uint64_t count, std::uint32_t base, std::uint32_t* out) {
        constexpr unsigned kBatch = 2;
        const auto store_batch = [&] {
            for (unsigned i = 0; i < kBatch; ++i) {
                out[i] = base + static_cast<std::uint32_t>(_tzcnt_u64(bits));
                bits &= bits - 1;
            }
            out += kBatch;
        };
        store_batch();
        for (; count > kBatch; count -= kBatch) store_batch();
    }
};

}  // namespace
}  // namespace cleave
