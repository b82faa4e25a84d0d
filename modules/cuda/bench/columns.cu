// Columns are produced in one pass, which needs an upper bound for the output of each operation. Masks are produced
// with one thread per row.
#include "cuda/bench/columns.h"

#include "cuda/bench/ranges.h"
#include "cuda/bench/scalar.h"
#include "cuda/device.h"
#include "cuda/rows.h"
#include "features/redact/stage/characters.h"

namespace cleave::cuda {
namespace {

constexpr unsigned kMaskThreads = 256;

// Loops over the rows of a thread, which are one grid size apart.
template <class Body>
__device__ __forceinline__ void for_rows(std::int32_t rows, Body body) {
    const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
    for (std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < rows; row += step) {
        body(static_cast<std::int32_t>(row));
    }
}

// __grid_constant__ lets `text` be read in place: otherwise indexing it with a variable would need a copy.
template <class Offset>
__global__ void equals_kernel(StringsView column, const __grid_constant__ Scalar text, std::uint8_t* mask) {
    for_rows(column.rows, [&](std::int32_t row) {
        const PlainText value = plain_text<Offset>(column, row);
        bool is_equal = value.size == text.size && is_valid(column, row);
        for (std::uint32_t i = 0; is_equal && i < text.size; ++i) is_equal = value.byte(i) == text.byte(i);
        mask[row] = is_equal ? 1 : 0;
    });
}

template <class Offset>
__global__ void is_filled_kernel(StringsView column, std::uint8_t* mask) {
    for_rows(column.rows, [&](std::int32_t row) {
        mask[row] = plain_text<Offset>(column, row).size > 0 && is_valid(column, row) ? 1 : 0;
    });
}

__global__ void keep_where_kernel(std::int32_t rows, std::uint8_t* mask, const std::uint8_t* other) {
    for_rows(rows, [&](std::int32_t row) {
        if (other[row] == 0) mask[row] = 0;
    });
}

template <class... P, class... A>
void launch_for_rows(Device& device, std::int32_t rows, void (*kernel)(P...), A... arguments) {
    if (rows == 0) return;
    const auto blocks = (static_cast<unsigned>(rows) + kMaskThreads - 1) / kMaskThreads;
    const auto most = static_cast<unsigned>(device.blocks_at_once(kernel, kMaskThreads, 0));
    device.launch(kernel, blocks < most ? blocks : most, kMaskThreads, 0, arguments...);
}

DeviceMask make_mask(Device& device, std::int32_t rows) {
    DeviceMask mask;
    mask.bytes = device.allocate(static_cast<std::size_t>(rows));
    mask.rows = rows;
    return mask;
}

// A part of the value: `size` bytes, starting at `from`.
struct PartOfValue {
    static constexpr int kColumns = 1;
    static constexpr bool kMakesNulls = true;
    static constexpr bool kMakesNewNulls = false;

    struct Measured {
        std::uint32_t size;
        std::uint32_t from;
    };

    template <class Text, class Output>
    __device__ __forceinline__ void write(const Row<1, Text>& row, Measured measured, Output out) const {
        out.copy(row.column[0], measured.from, measured.size);
    }

    static std::uint64_t bound(const std::uint64_t* sizes, std::uint64_t) { return sizes[0]; }
};

struct BeforeFirst : PartOfValue {
    std::uint8_t separator;

    template <class Text>
    __device__ __forceinline__ Measured measure(const Row<1, Text>& row) const {
        return {row.has(0) ? row.column[0].find(separator) : kNullRow, 0};
    }
};

struct AfterFirst : PartOfValue {
    std::uint8_t separator;

    template <class Text>
    __device__ __forceinline__ Measured measure(const Row<1, Text>& row) const {
        if (!row.has(0)) return {kNullRow, 0};
        const std::uint32_t size = row.column[0].size;
        const std::uint32_t found = row.column[0].find(separator);
        return found < size ? Measured{size - found - 1, found + 1} : Measured{0, 0};
    }
};

struct Slice : PartOfValue {
    std::uint32_t begin;  // characters
    std::uint32_t end;

    template <class Text>
    __device__ __forceinline__ Measured measure(const Row<1, Text>& row) const {
        if (!row.has(0)) return {kNullRow, 0};
        const std::uint8_t* const first = row.column[0].data();
        const std::uint8_t* const last = first + row.column[0].size;
        const std::uint8_t* at = first;
        for (std::uint32_t i = 0; i < begin && at != last; ++i) at += character_size(at, last);
        const auto from = static_cast<std::uint32_t>(at - first);
        for (std::uint32_t i = begin; i < end && at != last; ++i) at += character_size(at, last);
        return {static_cast<std::uint32_t>(at - first) - from, from};
    }
};

struct Choose {
    static constexpr int kColumns = 1;
    static constexpr bool kMakesNulls = true;
    static constexpr bool kMakesNewNulls = false;

    const std::uint8_t* mask;
    Scalar otherwise;

    struct Measured {
        std::uint32_t size;
        bool is_chosen;
    };

    template <class Text>
    __device__ __forceinline__ Measured measure(const Row<1, Text>& row) const {
        if (!row.has(0)) return {kNullRow, false};
        const bool is_chosen = mask[row.index] != 0;
        return {is_chosen ? row.column[0].size : otherwise.size, is_chosen};
    }

    template <class Text, class Output>
    __device__ __forceinline__ void write(const Row<1, Text>& row, Measured measured, Output out) const {
        if (measured.is_chosen) {
            out.copy(row.column[0], 0, measured.size);
        } else {
            otherwise.write(out);
        }
    }

    std::uint64_t bound(const std::uint64_t* sizes, std::uint64_t rows) const {
        return sizes[0] + otherwise.size * rows;
    }
};

struct Join : SizedRows<2, true, false> {
    Scalar between;

    template <class Text>
    __device__ __forceinline__ Measured measure(const Row<2, Text>& row) const {
        if (!row.has(0) || !row.has(1)) return {kNullRow};
        return {row.column[0].size + between.size + row.column[1].size};
    }

    template <class Text, class Output>
    __device__ __forceinline__ void write(const Row<2, Text>& row, Measured, Output out) const {
        out.copy(row.column[0], 0, row.column[0].size);
        between.write(out);
        out.copy(row.column[1], 0, row.column[1].size);
    }

    std::uint64_t bound(const std::uint64_t* sizes, std::uint64_t rows) const {
        return sizes[0] + sizes[1] + between.size * rows;
    }
};

}  // namespace

DeviceMask equals(Device& device, const StringsView& column, std::string_view text) {
    const Range range(device, "equals");
    DeviceMask mask = make_mask(device, column.rows);
    const auto kernel = column.large_offsets != nullptr ? &equals_kernel<std::int64_t> : &equals_kernel<std::int32_t>;
    launch_for_rows(device, column.rows, kernel, column, Scalar(text), mask.bytes.data());
    return mask;
}

DeviceMask is_filled(Device& device, const StringsView& column) {
    const Range range(device, "is_filled");
    DeviceMask mask = make_mask(device, column.rows);
    const auto kernel =
        column.large_offsets != nullptr ? &is_filled_kernel<std::int64_t> : &is_filled_kernel<std::int32_t>;
    launch_for_rows(device, column.rows, kernel, column, mask.bytes.data());
    return mask;
}

void keep_where(Device& device, DeviceMask& mask, const DeviceMask& other) {
    const Range range(device, "keep_where");
    launch_for_rows(device, mask.rows, &keep_where_kernel, mask.rows, mask.bytes.data(),
                    static_cast<const std::uint8_t*>(other.bytes.data()));
}

DeviceStrings choose(Device& device, const DeviceMask& mask, const StringsView& column, std::string_view otherwise) {
    const Range range(device, "choose");
    Choose functor;
    functor.mask = mask.bytes.data();
    functor.otherwise = Scalar(otherwise);
    return make_in_one_pass(device, {column}, column.rows, functor);
}

DeviceStrings before_first(Device& device, const StringsView& column, char separator) {
    const Range range(device, "before_first");
    BeforeFirst functor;
    functor.separator = static_cast<std::uint8_t>(separator);
    return make_in_one_pass(device, {column}, column.rows, functor);
}

DeviceStrings after_first(Device& device, const StringsView& column, char separator) {
    const Range range(device, "after_first");
    AfterFirst functor;
    functor.separator = static_cast<std::uint8_t>(separator);
    return make_in_one_pass(device, {column}, column.rows, functor);
}

DeviceStrings slice(Device& device, const StringsView& column, std::uint32_t begin, std::uint32_t end) {
    const Range range(device, "slice");
    Slice functor;
    functor.begin = begin;
    functor.end = end;
    return make_in_one_pass(device, {column}, column.rows, functor);
}

DeviceStrings concatenate(Device& device, const StringsView& first, std::string_view between,
                          const StringsView& second) {
    const Range range(device, "concatenate");
    Join functor;
    functor.between = Scalar(between);
    return make_in_one_pass(device, {first, second}, first.rows, functor);
}

}  // namespace cleave::cuda
