#include "cuda/bench/redact.h"

#include <cerrno>
#include <cstdlib>

#include "cuda/bench/columns.h"
#include "cuda/bench/public_name.h"
#include "cuda/bench/ranges.h"
#include "cuda/bench/scalar.h"
#include "cuda/device.h"
#include "cuda/rows.h"

namespace cleave::cuda {
namespace {

constexpr unsigned kThreads = 256;

__device__ __forceinline__ std::int32_t own_row() {
    return static_cast<std::int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
}

// As with kernels for rows, 32-bit offsets are for columns none of which is large.
template <class Offset>
__device__ __forceinline__ Row<2, PlainText> row_of(const StringsView& names, const StringsView& visibilities,
                                                    std::int32_t index) {
    Row<2, PlainText> row;
    row.column[0] = plain_text<Offset>(names, index);
    row.column[1] = plain_text<Offset>(visibilities, index);
    row.valid = (is_valid(names, index) ? 1U : 0U) | (is_valid(visibilities, index) ? 2U : 0U);
    row.index = index;
    return row;
}

bool has_large(const StringsView& names, const StringsView& visibilities) {
    return names.large_offsets != nullptr || visibilities.large_offsets != nullptr;
}

unsigned blocks_for(std::int32_t rows) { return (static_cast<unsigned>(rows) + kThreads - 1) / kThreads; }

// The common part of functors for values that are scattered in memory.
struct Scattered : SizedRows<0, true, true> {
    std::uint64_t total;  // an estimate of the total size in bytes

    std::uint64_t bound(const std::uint64_t*, std::uint64_t) const { return total; }
};

struct Piece {
    std::uint8_t* bytes;  // from malloc(); null for a masked row, which needs no memory
    std::uint32_t size;   // kNullRow for a null
};

struct Pieces : Scattered {
    const Piece* pieces;

    template <class Text>
    __device__ __forceinline__ Measured measure(const Row<0, Text>& row) const {
        return {pieces[row.index].size};
    }

    template <class Text, class Output>
    __device__ __forceinline__ void write(const Row<0, Text>& row, Measured measured, Output out) const {
        const std::uint8_t* const bytes = pieces[row.index].bytes;
        if (bytes != nullptr) {
            out.copy(PlainText{bytes, measured.size}, 0, measured.size);
        } else if (measured.size != 0) {
            PublicName::write_masked(out);
        }
    }
};

// malloc() is serialised, so it takes nearly all of the time. A masked row does not need it.
template <class Offset>
__global__ void malloc_kernel(StringsView names, StringsView visibilities, Piece* pieces, std::uint32_t* failed) {
    const std::int32_t index = own_row();
    if (index >= names.rows) return;
    const Row<2, PlainText> row = row_of<Offset>(names, visibilities, index);
    const PublicName functor;
    const PublicName::Measured measured = functor.measure(row);
    Piece piece{nullptr, measured.size};
    if (measured.size != kNullRow && !measured.is_masked()) {
        piece.bytes = static_cast<std::uint8_t*>(malloc(measured.size));
        if (piece.bytes != nullptr) {
            functor.write(row, measured, ByteOutput{piece.bytes});
        } else {
            piece.size = 0;
            *failed = 1;
        }
    }
    pieces[index] = piece;
}

__global__ void free_kernel(const Piece* pieces, std::int32_t rows) {
    const std::int32_t index = own_row();
    if (index < rows) free(pieces[index].bytes);
}

// Where the value of a row is in working memory.
template <class Offset>
__device__ __forceinline__ std::size_t place_of(const StringsView& names, std::int32_t row) {
    return static_cast<std::size_t>(offset_at<Offset>(names, row)) + std::size_t{3} * static_cast<std::uint32_t>(row);
}

template <class Offset>
struct Worked : Scattered {
    const std::uint8_t* work;
    StringsView names;
    const std::uint32_t* sizes;

    template <class Text>
    __device__ __forceinline__ Measured measure(const Row<0, Text>& row) const {
        return {sizes[row.index]};
    }

    template <class Text, class Output>
    __device__ __forceinline__ void write(const Row<0, Text>& row, Measured measured, Output out) const {
        out.copy(PlainText{work + place_of<Offset>(names, row.index), measured.size}, 0, measured.size);
    }
};

template <class Offset>
__global__ void work_kernel(StringsView names, StringsView visibilities, std::uint8_t* work, std::uint32_t* sizes) {
    const std::int32_t index = own_row();
    if (index >= names.rows) return;
    const Row<2, PlainText> row = row_of<Offset>(names, visibilities, index);
    const PublicName functor;
    const PublicName::Measured measured = functor.measure(row);
    if (measured.size != kNullRow) functor.write(row, measured, ByteOutput{work + place_of<Offset>(names, index)});
    sizes[index] = measured.size;
}

template <class Offset>
DeviceStrings make_with_working_memory(Device& device, const StringsView& names, const StringsView& visibilities) {
    const std::int32_t rows = names.rows;
    Worked<Offset> functor;
    functor.total = static_cast<std::uint64_t>(names.size) + 3 * static_cast<std::uint64_t>(rows);
    Memory sizes;
    const Memory work = in_range(device, "allocate", [&] {
        sizes = device.allocate(sizeof(std::uint32_t) * static_cast<std::size_t>(rows));
        return device.allocate(functor.total);
    });
    auto* const first_size = reinterpret_cast<std::uint32_t*>(sizes.data());
    if (rows > 0) {
        const Range range(device, "write");
        device.launch(&work_kernel<Offset>, blocks_for(rows), kThreads, 0, names, visibilities, work.data(),
                      first_size);
    }
    functor.work = work.data();
    functor.names = names;
    functor.sizes = first_size;
    return in_range(device, "gather", [&] { return make_in_two_passes(device, {}, rows, functor); });
}

}  // namespace

DeviceStrings redact_composed(Device& device, const StringsView& names, const StringsView& visibilities) {
    const Range range(device, "redact_composed");
    DeviceMask is_shown = equals(device, visibilities, "public");
    const DeviceStrings first = before_first(device, names, ' ');
    const DeviceStrings last = after_first(device, names, ' ');
    keep_where(device, is_shown, is_filled(device, first.view()));
    keep_where(device, is_shown, is_filled(device, last.view()));
    const DeviceStrings initial = slice(device, last.view(), 0, 1);
    const DeviceStrings shown = concatenate(device, initial.view(), " ", first.view());
    return choose(device, is_shown, shown.view(), "X X");
}

void reserve_heap(std::size_t size) { check(cudaDeviceSetLimit(cudaLimitMallocHeapSize, size), "cudaDeviceSetLimit"); }

DeviceStrings redact_with_malloc(Device& device, const StringsView& names, const StringsView& visibilities) {
    const Range range(device, "redact_with_malloc");
    const std::int32_t rows = names.rows;
    const Memory pieces = device.allocate(sizeof(Piece) * static_cast<std::size_t>(rows));
    const Memory failed = device.allocate(sizeof(std::uint32_t), CLEAVE_MEMORY_ZEROED);
    auto* const first = reinterpret_cast<Piece*>(pieces.data());
    auto* const flag = reinterpret_cast<std::uint32_t*>(failed.data());
    const auto kernel = has_large(names, visibilities) ? &malloc_kernel<std::int64_t> : &malloc_kernel<std::int32_t>;
    if (rows > 0) {
        const Range inner(device, "write");
        device.launch(kernel, blocks_for(rows), kThreads, 0, names, visibilities, first, flag);
    }
    Pieces functor;
    functor.total = static_cast<std::uint64_t>(names.size) + 3 * static_cast<std::uint64_t>(rows);
    functor.pieces = first;
    // Memory from malloc() is freed whether or not the column can be created.
    const auto free_pieces = [&] {
        const Range inner(device, "free");
        if (rows > 0) device.launch(&free_kernel, blocks_for(rows), kThreads, 0, first, rows);
    };
    DeviceStrings result;
    try {
        result = in_range(device, "gather", [&] { return make_in_one_pass(device, {}, rows, functor); });
    } catch (...) {
        free_pieces();
        throw;
    }
    free_pieces();
    std::uint32_t has_failed = 0;
    check(cudaMemcpyAsync(&has_failed, flag, sizeof(has_failed), cudaMemcpyDeviceToHost, device.stream()),
          "cudaMemcpyAsync");
    device.wait();
    if (has_failed != 0) throw MemoryError("malloc of the device", ENOMEM, static_cast<std::size_t>(names.size));
    return result;
}

DeviceStrings redact_with_working_memory(Device& device, const StringsView& names, const StringsView& visibilities) {
    const Range range(device, "redact_with_working_memory");
    return has_large(names, visibilities) ? make_with_working_memory<std::int64_t>(device, names, visibilities)
                                          : make_with_working_memory<std::int32_t>(device, names, visibilities);
}

DeviceStrings redact_in_two_passes(Device& device, const StringsView& names, const StringsView& visibilities) {
    const Range range(device, "redact_in_two_passes");
    return make_and_trim(device, {names, visibilities}, names.rows, PublicName{});
}

DeviceStrings redact_in_one_pass(Device& device, const StringsView& names, const StringsView& visibilities) {
    const Range range(device, "redact_in_one_pass");
    return make_in_one_pass(device, {names, visibilities}, names.rows, PublicName{});
}

}  // namespace cleave::cuda
