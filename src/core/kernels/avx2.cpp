// 64 bytes in two 32-byte registers. Compiled with -mavx2 -mbmi -mbmi2 -mpopcnt -mpclmul.
#include <cstring>

#include "core/kernels/bmi2.h"

namespace cleave {
namespace {

struct Avx2 : Bmi2 {
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

    static constexpr std::size_t kLongSteps = 4;
};

}  // namespace

extern constinit const Kernel kAvx2Kernel = make_kernel<Avx2>("avx2");

}  // namespace cleave
