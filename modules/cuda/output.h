// Where functors of rows_kernel.h write a row: shared memory (WordOutput) or anywhere (ByteOutput). Both have the same
// members, so that a functor is written only once. A functor may take std::uint8_t* instead; both convert to it.
//
// WordOutput writes four-byte words. Rows are adjacent, so the first and last word of a row also hold bytes of other
// rows, which other lanes write at the same time. All bytes start at 0, and such words are combined with atomicOr().
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/text.h"

namespace cleave::cuda {

struct WordOutput {
    std::uint32_t* words;  // in shared memory
    std::uint32_t at;      // where the next byte goes, in bytes from `words`

    __device__ __forceinline__ operator std::uint8_t*() const { return reinterpret_cast<std::uint8_t*>(words) + at; }

    // Writes the low `count` (1 to 4) bytes of `bytes`, the lowest first. The other bytes must be 0.
    __device__ __forceinline__ void put(std::uint32_t bytes, std::uint32_t count) {
        const unsigned shift = at % 4 * 8;
        std::uint32_t* const word = words + at / 4;
        atomicOr(word, bytes << shift);
        atomicOr(word + 1, __funnelshift_l(bytes, 0U, shift));  // the rest, which may be 0
        at += count;
    }

    // Writes `count` bytes of the text, starting at `from`. Iterates over words of the output, each of which comes from
    // two words of the text.
    __device__ __forceinline__ void copy(const SharedText& text, std::uint32_t from, std::uint32_t count) {
        if (count == 0) return;
        const std::uint32_t skew = at % 4;
        // The byte of the text that would go to the start of the first word. It may be up to 3 bytes before the text.
        const auto place = static_cast<std::int32_t>(text.at + from) - static_cast<std::int32_t>(skew);
        const unsigned shift = static_cast<unsigned>(place & 3) * 8;
        const std::uint32_t* next = text.words + (place >> 2);
        std::uint32_t* out = words + at / 4;
        std::uint32_t low = *next;
        std::uint32_t mask = ~0U << skew * 8;
        at += count;
        std::uint32_t left = skew + count;
#pragma unroll 1
        for (; left > 4; left -= 4) {
            const std::uint32_t high = *++next;
            atomicOr(out++, __funnelshift_r(low, high, shift) & mask);
            mask = ~0U;
            low = high;
        }
        atomicOr(out, __funnelshift_r(low, next[1], shift) & mask & (~0U >> (4 - left) * 8));
    }

    __device__ __forceinline__ void copy(const PlainText& text, std::uint32_t from, std::uint32_t count) {
#pragma unroll 1
        for (std::uint32_t i = 0; i < count; i += 4) {
            const std::uint32_t size = count - i < 4 ? count - i : 4;
            put(PlainText{text.bytes + from, i + size}.word(i), size);
        }
    }
};

struct ByteOutput {
    std::uint8_t* at;

    __device__ __forceinline__ operator std::uint8_t*() const { return at; }

    __device__ __forceinline__ void put(std::uint32_t bytes, std::uint32_t count) {
#pragma unroll 1
        for (std::uint32_t i = 0; i < count; ++i) at[i] = static_cast<std::uint8_t>(bytes >> 8 * i);
        at += count;
    }

    template <class Text>
    __device__ __forceinline__ void copy(const Text& text, std::uint32_t from, std::uint32_t count) {
        const std::uint8_t* const bytes = text.data() + from;
#pragma unroll 1
        for (std::uint32_t i = 0; i < count; ++i) at[i] = bytes[i];
        at += count;
    }
};

}  // namespace cleave::cuda
