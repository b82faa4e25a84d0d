// Strings for kernels with one thread per row: a value from a column, and a short string that is passed by value.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string_view>

#include "cleave/error.h"
#include "cuda/rows_job.h"
#include "cuda/strings.h"
#include "cuda/text.h"

namespace cleave::cuda {

// A value of at most 2^31 - 1 bytes, read in place. With 32-bit offsets, the column must not be large.
template <class Offset>
__device__ __forceinline__ PlainText plain_text(const StringsView& column, std::int32_t row) {
    const auto begin = offset_at<Offset>(column, row);
    return {column.bytes + begin, static_cast<std::uint32_t>(offset_at<Offset>(column, row + 1) - begin)};
}

struct Scalar {
    static constexpr std::uint32_t kMaxSize = 60;

    std::uint32_t size = 0;
    std::uint32_t words[kMaxSize / 4] = {};  // its bytes, little-endian, padded with zeros

    Scalar() = default;
    // Throws ArgumentError if the text is longer than kMaxSize bytes.
    explicit Scalar(std::string_view text) : size(static_cast<std::uint32_t>(text.size())) {
        if (text.size() > kMaxSize) throw ArgumentError("a text for a device may have 60 bytes");
        for (std::size_t i = 0; i < text.size(); ++i) {
            words[i / 4] |= std::uint32_t{static_cast<std::uint8_t>(text[i])} << 8 * (i % 4);
        }
    }

    __device__ __forceinline__ std::uint8_t byte(std::uint32_t i) const {
        return static_cast<std::uint8_t>(words[i / 4] >> 8 * (i % 4));
    }

    // Writes to one of the outputs in output.h.
    template <class Output>
    __device__ __forceinline__ void write(Output& out) const {
        for (std::uint32_t i = 0; i < size; i += 4) out.put(words[i / 4], size - i < 4 ? size - i : 4);
    }
};

}  // namespace cleave::cuda
