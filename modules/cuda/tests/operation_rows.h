// An operation of src/features/redact/stage as a functor of rows_kernel.h: the same source produces the values on the
// CPU and on the device. There is no hasher yet, so operations with a key cannot be used.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/rows_kernel.h"
#include "features/redact/stage/bytes.h"
#include "features/redact/stage/value.h"

namespace cleave::cuda {

// Returns tokens of zeros, so that operations that can have a key compile.
struct NoHasher {
    CLEAVE_DEVICE void token(std::uint32_t, Value, std::uint8_t* digest) const { fill_bytes(digest, 0, 32); }
    CLEAVE_DEVICE void lower_token(std::uint32_t, Value, std::uint8_t* digest) const { fill_bytes(digest, 0, 32); }
};

// For two passes: bound() of an operation applies to one value, so for a column it is an estimate.
template <class Operation>
struct OperationRows : SizedRows<1, true, true> {
    static constexpr bool kStaysSmall = true;

    Operation operation;

    template <class Text>
    __device__ __forceinline__ Measured measure(const Row<1, Text>& row) const {
        if (!row.has(0)) return {kNullRow};
        NoHasher hasher;
        const std::uint64_t size = operation.measure(value_of(row.column[0]), hasher);
        if (size == kBecomesNull) return {kNullRow};
        // A value this long makes the column too large.
        return {size < kNullRow ? static_cast<std::uint32_t>(size) : kNullRow - 1};
    }

    template <class Text>
    __device__ __forceinline__ void write(const Row<1, Text>& row, Measured, std::uint8_t* out) const {
        NoHasher hasher;
        operation.write(value_of(row.column[0]), out, hasher);
    }

    std::uint64_t bound(const std::uint64_t* sizes, std::uint64_t rows) const {
        return rows > 0 ? rows * operation.bound(sizes[0] / rows) : 0;
    }
};

}  // namespace cleave::cuda
