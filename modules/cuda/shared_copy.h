// Brings a range of global memory into shared memory, 16 bytes at a time and without registers in between.
//
// Words of 16 bytes begin at multiples of 16, and a range does not. The words that a range touches are copied whole, so
// the range lies in shared memory with the same remainder modulo 16 as in global memory. Words that reach out of the
// array are copied byte by byte: nothing outside of an array is read.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda_primitives.h"

namespace cleave::cuda {

constexpr std::uint32_t kCopyWord = 16;

// What a range of `size` bytes may need in shared memory: words at both ends, and room to read behind the last value.
constexpr std::uint32_t shared_size(std::uint64_t size) {
    return static_cast<std::uint32_t>((size + 3 * kCopyWord - 1) / kCopyWord * kCopyWord);
}

// How far behind the begin of the area the first byte of the range comes to lie, 0 to 15.
__device__ __forceinline__ std::uint32_t shared_lead(const std::uint8_t* from) {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(from) % kCopyWord);
}

// Begins the copy of `size` bytes, from number `from` of the array on, by one warp. `area` is at a multiple of 16. The
// array has `count` bytes. Returns what to add to the number of a byte for its place in the area, modulo 2^32. See
// copy_16_async() for when the bytes can be seen.
__device__ __forceinline__ std::uint32_t copy_to_shared(std::uint8_t* area, const std::uint8_t* array,
                                                        std::uint32_t count, std::int32_t from, std::uint32_t size,
                                                        std::uint32_t lane) {
    const std::uint32_t lead = (shared_lead(array) + static_cast<std::uint32_t>(from)) % kCopyWord;
    const std::int32_t first = from - static_cast<std::int32_t>(lead);
    const std::uint32_t all = (lead + size + kCopyWord - 1) / kCopyWord * kCopyWord;
    const std::uint8_t* const begin = array + first;
    if (first >= 0 && static_cast<std::uint32_t>(first) + all <= count) {
#pragma unroll 1
        for (std::uint32_t i = kCopyWord * lane; i < all; i += kCopyWord * 32) copy_16_async(area + i, begin + i);
    } else if (size > 0) {
#pragma unroll 1
        for (std::uint32_t i = kCopyWord * lane; i < all; i += kCopyWord * 32) {
            const std::int64_t number = std::int64_t{first} + i;
            if (number >= 0 && number + kCopyWord <= count) {
                copy_16_async(area + i, begin + i);
                continue;
            }
#pragma unroll 1
            for (std::int64_t k = number < 0 ? -number : 0; k < kCopyWord && number + k < count; ++k) {
                area[i + k] = array[number + k];
            }
        }
    }
    return static_cast<std::uint32_t>(-first);
}

}  // namespace cleave::cuda
