// The output of a warp in shared memory: cleared before functors write it, then copied to global memory 16 bytes at a
// time. Areas are aligned to 16 bytes and have room for 16-byte words that extend past the end. All lanes must call
// these functions.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/shared_copy.h"

namespace cleave::cuda {

// Sets `size` bytes, rounded up to a multiple of 16, to 0.
__device__ __forceinline__ void clear_shared(std::uint8_t* area, std::uint32_t size, std::uint32_t lane) {
    auto* const words = reinterpret_cast<uint4*>(area);
#pragma unroll 1
    for (std::uint32_t i = lane; i < (size + kCopyWord - 1) / kCopyWord; i += 32) words[i] = make_uint4(0, 0, 0, 0);
    __syncwarp();
}

// Stores 16-byte words that begin 4 * kSkip + shift / 8 bytes after the start of `in`.
template <int kSkip>
__device__ __forceinline__ void store_words(uint4* out, const uint4* in, std::uint32_t words, unsigned shift,
                                            std::uint32_t lane) {
#pragma unroll 1
    for (std::uint32_t i = lane; i < words; i += 32) {
        const uint4 low = in[i];
        const uint4 high = in[i + 1];
        const std::uint32_t w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
        out[i] = make_uint4(
            __funnelshift_r(w[kSkip], w[kSkip + 1], shift), __funnelshift_r(w[kSkip + 1], w[kSkip + 2], shift),
            __funnelshift_r(w[kSkip + 2], w[kSkip + 3], shift), __funnelshift_r(w[kSkip + 3], w[kSkip + 4], shift));
    }
}

// Copies `size` bytes of the area, starting at `lead`, to global memory: single bytes up to a multiple of 16, then
// 16-byte words, then single bytes. With kIsAligned, source and destination have the same remainder modulo 16; without
// it, `lead` is 0.
template <bool kIsAligned>
__device__ __forceinline__ void store_shared(std::uint8_t* to, const std::uint8_t* area, std::uint32_t lead,
                                             std::uint32_t size, std::uint32_t lane) {
    const std::uint8_t* const from = area + lead;
    const std::uint32_t gap = (kCopyWord - shared_lead(to)) % kCopyWord;
    const std::uint32_t head = gap < size ? gap : size;
    const std::uint32_t words = (size - head) / kCopyWord;
    const std::uint32_t tail = head + words * kCopyWord;
    if (lane < head) to[lane] = from[lane];
    if (lane < size - tail) to[tail + lane] = from[tail + lane];
    auto* const out = reinterpret_cast<uint4*>(to + head);
    if constexpr (kIsAligned) {
        const auto* const in = reinterpret_cast<const uint4*>(from + head);
#pragma unroll 1
        for (std::uint32_t i = lane; i < words; i += 32) out[i] = in[i];
    } else {
        const auto* const in = reinterpret_cast<const uint4*>(area);
        const unsigned shift = head % 4 * 8;
        switch (head / 4) {
            case 0: return store_words<0>(out, in, words, shift, lane);
            case 1: return store_words<1>(out, in, words, shift, lane);
            case 2: return store_words<2>(out, in, words, shift, lane);
            default: return store_words<3>(out, in, words, shift, lane);
        }
    }
}

}  // namespace cleave::cuda
