// Columns of values in device memory, in the layout of Apache Arrow: 32-bit offsets, the bytes of all values, and a bit
// for each row that says whether it has a value.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cleave/memory.h"

namespace cleave::cuda {

constexpr std::uint64_t kMaxColumnSize = INT32_MAX;  // bytes
constexpr std::int64_t kMaxRows = INT32_MAX - 4096;  // some room, so that numbers of tiles and rows do not overflow

// A column that somebody else owns. Plain data, that kernels take. Row i has the bytes offsets[i] to offsets[i + 1]
// - 1.
struct StringsView {
    const std::int32_t* offsets = nullptr;  // rows + 1 of them, at a multiple of 4 bytes
    const std::uint8_t* bytes = nullptr;
    const std::uint32_t* validity = nullptr;  // bit validity_begin + i is 1 if row i has a value; null: all rows have
    std::int32_t validity_begin = 0;
    std::int32_t rows = 0;
    std::int32_t size = 0;  // offsets[rows]: how many bytes of `bytes` may be read
};

// A column that is owned. Movable. Its memory goes back to its manager with it.
struct DeviceStrings {
    Memory offsets;
    Memory bytes;
    Memory validity;  // empty if all rows have a value
    std::int32_t rows = 0;
    std::int32_t size = 0;  // bytes of all values

    StringsView view() const {
        const auto* const bits =
            validity.size() > 0 ? reinterpret_cast<const std::uint32_t*>(validity.data()) : nullptr;
        return {reinterpret_cast<const std::int32_t*>(offsets.data()), bytes.data(), bits, 0, rows, size};
    }
};

}  // namespace cleave::cuda
