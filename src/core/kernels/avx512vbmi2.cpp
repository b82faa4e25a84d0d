// Like avx512.cpp, but for machines that can also move selected bytes to the front of a register and count the bits of
// each element (Ice Lake, Zen 4 and later). One instruction gives the positions of all bits of a step, or the counts of
// all lanes. Compiled with the flags of avx512.cpp, plus -mavx512vbmi2 and -mavx512vpopcntdq.
#include "core/kernels/avx512.h"

namespace cleave {
namespace {

// The position of each byte in a step: 0 to 63.
struct Positions {
    constexpr Positions() {
        for (std::size_t i = 0; i < kStepSize; ++i) bytes[i] = static_cast<std::uint8_t>(i);
    }
    alignas(kStepSize) std::uint8_t bytes[kStepSize] = {};
};
constexpr Positions kPositions;

struct Avx512Vbmi2 : Avx512 {
    static constexpr bool kCountsLanes = true;
    static Lanes popcounts(Lanes words) {
        return reinterpret_cast<Lanes>(_mm256_popcnt_epi64(reinterpret_cast<__m256i>(words)));
    }

    static void store_positions(std::uint64_t bits, std::uint64_t count, std::uint32_t base, std::uint32_t* out) {
        const __m512i bases = _mm512_set1_epi32(static_cast<int>(base));
        alignas(kStepSize) __m128i found[4];
        _mm512_store_si512(found, _mm512_maskz_compress_epi8(bits, _mm512_load_si512(kPositions.bytes)));
        const auto store = [&](std::size_t i) {
            constexpr __mmask16 kAll = 0xFFFF;  // without a mask, GCC 12 warns about an undefined value
            const __m512i words = _mm512_maskz_cvtepu8_epi32(kAll, found[i]);
            _mm512_storeu_si512(out + 16 * i, _mm512_add_epi32(bases, words));
        };
        store(0);
        if (count <= 16) return;
        for (std::size_t i = 1; i < 4; ++i) store(i);
    }
    static void store_few(std::uint64_t bits, std::uint64_t count, std::uint32_t base, std::uint32_t* out) {
        store_positions(bits, count, base, out);
    }
};

}  // namespace

extern constinit const Kernel kAvx512vbmi2Kernel = make_kernel<Avx512Vbmi2>("avx512vbmi2");

}  // namespace cleave
