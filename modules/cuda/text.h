// One value on the device, for the functors of rows_kernel.h: in shared memory (SharedText) or anywhere (PlainText).
// Both have the same members, so that a functor is written only once.
//
// SharedText reads aligned four-byte words, up to 3 bytes before the value and 11 after it; staged values have that
// much room around them. PlainText reads single bytes of the value and nothing more.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "features/redact/stage/value.h"

namespace cleave::cuda {

struct WordPair {
    std::uint32_t low;  // the bytes that come first
    std::uint32_t high;
};

struct SharedText {
    const std::uint32_t* words;  // in shared memory
    std::uint32_t at;            // where the value begins, in bytes from `words`
    std::uint32_t size;

    __device__ __forceinline__ const std::uint8_t* data() const {
        return reinterpret_cast<const std::uint8_t*>(words) + at;
    }
    __device__ __forceinline__ std::uint8_t byte(std::uint32_t i) const { return data()[i]; }

    // The bytes i to i + 3, little-endian. `i` is at most the size. Bytes past the value are arbitrary.
    __device__ __forceinline__ std::uint32_t word(std::uint32_t i) const {
        const std::uint32_t place = at + i;
        return __funnelshift_r(words[place / 4], words[place / 4 + 1], place % 4 * 8);
    }

    // The first eight bytes.
    __device__ __forceinline__ WordPair first_words() const {
        const std::uint32_t* const begin = words + at / 4;
        const unsigned shift = at % 4 * 8;
        const std::uint32_t middle = begin[1];
        return {__funnelshift_r(begin[0], middle, shift), __funnelshift_r(middle, begin[2], shift)};
    }

    // The position of the first such byte, or the size if there is none. Iterates over pairs of aligned words. In the
    // first word, bytes before the value are changed so that they do not match. The lowest set top bit in `zeros`
    // belongs to the first match. Lanes leave the loop at different times, so as much work as possible is done after
    // it.
    __device__ __forceinline__ std::uint32_t find(std::uint8_t byte) const {
        const std::uint32_t pattern = byte * 0x01010101U;
        std::uint32_t before = (1U << at % 4 * 8) - 1;
        const auto* const begin = reinterpret_cast<const std::uint8_t*>(words);
        std::uint32_t low_zeros = 0;
        std::uint32_t high_zeros = 0;
        std::uint32_t i = at & ~3U;
#pragma unroll 1
        for (; i < at + size; i += 8) {
            const auto* const pair = reinterpret_cast<const std::uint32_t*>(begin + i);
            const std::uint32_t low = (pair[0] ^ pattern) | before;
            const std::uint32_t high = pair[1] ^ pattern;
            low_zeros = (low - 0x01010101U) & ~low & 0x80808080U;
            high_zeros = (high - 0x01010101U) & ~high & 0x80808080U;
            if ((low_zeros | high_zeros) != 0) break;
            before = 0;
        }
        if ((low_zeros | high_zeros) == 0) return size;
        const std::uint32_t zeros = low_zeros != 0 ? low_zeros : high_zeros;
        const std::uint32_t word = low_zeros != 0 ? i : i + 4;
        const std::uint32_t found = word + static_cast<std::uint32_t>(__ffs(zeros) - 1) / 8 - at;
        return found < size ? found : size;
    }
};

struct PlainText {
    const std::uint8_t* bytes;
    std::uint32_t size;

    __device__ __forceinline__ const std::uint8_t* data() const { return bytes; }
    __device__ __forceinline__ std::uint8_t byte(std::uint32_t i) const { return bytes[i]; }

    __device__ __forceinline__ std::uint32_t word(std::uint32_t i) const {
        std::uint32_t result = 0;
        for (std::uint32_t k = 0; k < 4 && i + k < size; ++k) result |= std::uint32_t{bytes[i + k]} << 8 * k;
        return result;
    }

    __device__ __forceinline__ WordPair first_words() const { return {word(0), word(4)}; }

    __device__ __forceinline__ std::uint32_t find(std::uint8_t byte) const {
        std::uint32_t i = 0;
#pragma unroll 1
        while (i < size && bytes[i] != byte) ++i;
        return i;
    }
};

// For the operations of src/features/redact/stage.
template <class Text>
__device__ __forceinline__ Value value_of(const Text& text) {
    return {text.data(), text.size};
}

}  // namespace cleave::cuda
