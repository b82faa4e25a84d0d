// Columns of values in device memory, in the layout of Apache Arrow: offsets, the bytes of all values, and one bit per
// row that says whether it has a value. A large column has 64-bit offsets, all others have 32-bit ones. Functions
// accept both; what they make is large only if it does not fit otherwise.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cleave/memory.h"

namespace cleave::cuda {

constexpr std::uint64_t kMaxColumnSize = INT32_MAX;  // bytes, unless it is large; also the most of any value
constexpr std::uint64_t kMaxLargeSize = std::uint64_t{1} << 44;  // bytes of a large column
constexpr std::int64_t kMaxRows = INT32_MAX - 4096;  // leaves a margin so that tile and row numbers do not overflow

// A column owned by someone else: plain data that can be passed to kernels. Row i has the bytes from offsets[i] up to,
// but not including, offsets[i + 1].
struct StringsView {
    const std::int32_t* offsets = nullptr;  // rows + 1 of them, aligned to their size; null if the column is large
    const std::uint8_t* bytes = nullptr;
    const std::uint32_t* validity = nullptr;  // bit validity_begin + i is 1 if row i has a value; null if all rows do
    std::int32_t validity_begin = 0;
    std::int32_t rows = 0;
    std::int64_t size = 0;                        // offsets[rows], the readable size of `bytes`
    const std::int64_t* large_offsets = nullptr;  // null unless the column is large
};

// An owned column. Movable. Its memory returns to its manager when it is destroyed.
struct DeviceStrings {
    Memory offsets;
    Memory bytes;
    Memory validity;  // empty if every row has a value
    std::int32_t rows = 0;
    std::int64_t size = 0;  // bytes of all values
    bool is_large = false;

    StringsView view() const {
        const auto* const bits =
            validity.size() > 0 ? reinterpret_cast<const std::uint32_t*>(validity.data()) : nullptr;
        StringsView view{nullptr, bytes.data(), bits, 0, rows, size, nullptr};
        if (is_large) {
            view.large_offsets = reinterpret_cast<const std::int64_t*>(offsets.data());
        } else {
            view.offsets = reinterpret_cast<const std::int32_t*>(offsets.data());
        }
        return view;
    }
};

}  // namespace cleave::cuda
