// 64 bytes in four 16-byte registers. SSE2 is part of every x86-64, so this needs no flags. It has no carry-less
// multiplication and no popcount.
#include <emmintrin.h>

#include <cstring>

#include "core/kernels/block_scan.h"

namespace cleave {
namespace {

struct Sse2 : AnyIsa {
    struct Block {
        __m128i parts[4];
    };
    using Needle = __m128i;

    static Needle needle(std::uint8_t byte) { return _mm_set1_epi8(static_cast<char>(byte)); }

    static Block load(const std::uint8_t* data) {
        const auto* parts = reinterpret_cast<const __m128i*>(data);
        return {{_mm_loadu_si128(parts), _mm_loadu_si128(parts + 1), _mm_loadu_si128(parts + 2),
                 _mm_loadu_si128(parts + 3)}};
    }

    static std::uint64_t equal(const Block& block, Needle needle) {
        std::uint64_t mask = 0;
        for (int i = 0; i < 4; ++i) {
            const auto part = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(block.parts[i], needle)));
            mask |= std::uint64_t{part} << (16 * i);
        }
        return mask;
    }

    static void store_equal(const Block& block, Needle needle, std::uint8_t* out) {
        const std::uint64_t mask = equal(block, needle);
        std::memcpy(out, &mask, sizeof mask);
    }

    static std::uint64_t prefix_xor(std::uint64_t bits) { return prefix_xor_by_shifts(bits); }

    static std::uint64_t popcount(std::uint64_t bits) { return popcount_by_adding(bits); }
};

}  // namespace

extern constinit const Kernel kSse2Kernel = make_kernel<Sse2>("sse2");

}  // namespace cleave
