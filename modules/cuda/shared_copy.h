// Copies a range of global memory into shared memory, 16 bytes at a time and without going through registers.
//
// 16-byte words begin at multiples of 16, but a range need not. The words that a range touches are copied whole, so
// that in shared memory the range has the same remainder modulo 16 as in global memory. Words that extend beyond the
// array are copied byte by byte, so that nothing outside the array is read.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "cuda_primitives.h"

namespace cleave::cuda {

constexpr std::uint32_t kCopyWord = 16;

// How much shared memory a range of `size` bytes may need: words at both ends, and room to read past the last value.
constexpr std::uint32_t shared_size(std::uint64_t size) {
    return static_cast<std::uint32_t>((size + 3 * kCopyWord - 1) / kCopyWord * kCopyWord);
}

// The offset, 0 to 15, of the first byte of the range from the start of the area.
__device__ __forceinline__ std::uint32_t shared_lead(const std::uint8_t* from) {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(from) % kCopyWord);
}

// Starts copying `size` bytes, from index `from` of the array onwards, with one warp. `area` must be aligned to 16
// bytes. The array has `count` bytes. Returns the number that, added to the index of a byte, gives its position in the
// area, modulo 2^32. copy_16_async() says when the bytes are visible.
template <class Offset>
__device__ __forceinline__ std::uint32_t copy_to_shared(std::uint8_t* area, const std::uint8_t* array,
                                                        std::make_unsigned_t<Offset> count, Offset from,
                                                        std::uint32_t size, std::uint32_t lane) {
    const std::uint32_t lead = (shared_lead(array) + static_cast<std::uint32_t>(from)) % kCopyWord;
    const Offset first = from - static_cast<std::int32_t>(lead);
    const std::uint32_t all = (lead + size + kCopyWord - 1) / kCopyWord * kCopyWord;
    const std::uint8_t* const begin = array + first;
    if (first >= 0 && static_cast<std::make_unsigned_t<Offset>>(first) + all <= count) {
#pragma unroll 1
        for (std::uint32_t i = kCopyWord * lane; i < all; i += kCopyWord * 32) copy_16_async(area + i, begin + i);
    } else if (size > 0) {
#pragma unroll 1
        for (std::uint32_t i = kCopyWord * lane; i < all; i += kCopyWord * 32) {
            const std::int64_t number = std::int64_t{first} + i;
            if (number >= 0 && number + kCopyWord <= static_cast<std::int64_t>(count)) {
                copy_16_async(area + i, begin + i);
                continue;
            }
#pragma unroll 1
            for (std::int64_t k = number < 0 ? -number : 0; k < kCopyWord; ++k) {
                if (number + k >= static_cast<std::int64_t>(count)) break;
                area[i + k] = array[number + k];
            }
        }
    }
    return static_cast<std::uint32_t>(-first);
}

}  // namespace cleave::cuda
