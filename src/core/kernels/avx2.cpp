// 64 bytes in two 32-byte registers. Compiled with -mavx2 -mbmi -mbmi2 -mpopcnt -mpclmul.
#include <immintrin.h>

#include <cstring>

#include "core/kernels/block_scan.h"

namespace cleave {
namespace {

struct Avx2 : AnyIsa {
    struct Block {
        __m256i low, high;
    };
    using Needle = __m256i;

    static Needle needle(std::uint8_t byte) { return _mm256_set1_epi8(static_cast<char>(byte)); }

    static Block load(const std::uint8_t* data) {
        return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(data)),
                _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data + 32))};
    }

    static std::uint64_t equal(const Block& block, Needle needle) {
        const auto low = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(block.low, needle)));
        const auto high = static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(block.high, needle)));
        return std::uint64_t{high} << 32 | low;
    }

    static void store_equal(const Block& block, Needle needle, std::uint8_t* out) {
        const int low = _mm256_movemask_epi8(_mm256_cmpeq_epi8(block.low, needle));
        const int high = _mm256_movemask_epi8(_mm256_cmpeq_epi8(block.high, needle));
        std::memcpy(out, &low, sizeof low);
        std::memcpy(out + sizeof low, &high, sizeof high);
    }

    // A carry-less multiplication by all ones gives the running XOR of the bits up to each bit.
    static std::uint64_t prefix_xor(std::uint64_t bits) {
        const __m128i product =
            _mm_clmulepi64_si128(_mm_set_epi64x(0, static_cast<long long>(bits)), _mm_set1_epi8(-1), 0);
        return static_cast<std::uint64_t>(_mm_cvtsi128_si64(product));
    }

    static std::uint64_t popcount(std::uint64_t bits) { return static_cast<std::uint64_t>(_mm_popcnt_u64(bits)); }

    static constexpr std::size_t kLongSteps = 4;
};

}  // namespace

extern constinit const Kernel kAvx2Kernel = make_kernel<Avx2>("avx2");

}  // namespace cleave
