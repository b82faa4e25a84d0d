// Creates a column from others with a functor; rows_kernel.h explains functors.
//
// make_in_one_pass() allocates memory for the upper bound of the output's size, and writes the output directly with one
// kernel. The other two return memory of the exact size. make_in_two_passes() measures with one kernel, allocates
// exactly what is needed, and writes with a second kernel; both read the input. make_and_trim() reads the input once:
// it writes to working memory that is large enough for the upper bound, then copies the output to memory of its exact
// size. If there is not enough memory for that, it falls back to two passes.
//
// A result of more than Device::small_limit() bytes becomes large. Its size is only known once a kernel has run, so
// this is guessed: large if one of the columns is, and if the usual share of the upper bound exceeds the limit. If the
// result is smaller, its offsets are converted; if it is larger, the kernel runs once more. A functor with
// `kStaysSmall` has no kernels for large columns, and fails instead.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "cuda/device.h"
#include "cuda/error.h"
#include "cuda/offsets.h"
#include "cuda/rows_kernel.h"
#include "cuda/strings.h"

namespace cleave::cuda {

// The number of rows per warp determines how much shared memory a block needs.
using ShortRows = TileShape<8, 2, 3>;
// For two passes, to measure and to write. Without columns, a warp needs fewer registers and almost no shared memory.
template <class Functor>
using ShortRowsToMeasure = std::conditional_t<Functor::kColumns == 0, TileShape<16, 2, 2>, TileShape<8, 3, 3>>;
using ShortRowsToWrite = TileShape<8, 2, 4>;
using LongRows = TileShape<4, 1, 3>;
// For one pass where the output is usually so much shorter than its bound that there is room for more rows.
using ShortRowsToShorten = TileShape<8, 3, 3>;

template <class Functor>
constexpr unsigned usual_share() {
    if constexpr (requires { Functor::kUsualShare; }) {
        return Functor::kUsualShare;
    } else {
        return 100;
    }
}
template <class Functor>
constexpr bool stays_small() {
    if constexpr (requires { Functor::kStaysSmall; }) {
        return Functor::kStaysSmall;
    } else {
        return false;
    }
}
template <class Functor>
using OnePassShape = std::conditional_t<(usual_share<Functor>() <= 60), ShortRowsToShorten, ShortRows>;

template <class Functor>
using Columns = std::array<StringsView, static_cast<std::size_t>(Functor::kColumns)>;

// The layout of shared memory for tiles of a shape. It has room for chunks a sixth larger than the mean, plus a few
// bytes. With `is_minimal` there is no room for values.
template <class Functor, class Shape, Pass kPass>
TileLayout layout_of(const Columns<Functor>& columns, std::int32_t rows, std::uint64_t bound, bool is_minimal = false) {
    const auto room = [rows, is_minimal](std::uint64_t size, unsigned some_rows, unsigned part) {
        const std::uint64_t mean = size * some_rows / static_cast<std::uint64_t>(rows > 0 ? rows : 1);
        const std::uint64_t wanted = is_minimal ? 0 : mean + mean / part + 64;
        return static_cast<std::uint32_t>(wanted < (1U << 20) ? wanted : 1U << 20);
    };
    TileLayout layout;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        layout.text_room[c] = room(static_cast<std::uint64_t>(columns[c].size), kChunkRows, 6);
        layout.text_at[c] = layout.stage_size;
        layout.stage_size += shared_size(layout.text_room[c]);
    }
    layout.output_at = 2 * layout.stage_size;
    if (kPass != Pass::kMeasure) {
        const std::uint64_t usual = bound * usual_share<Functor>() / 100;
        layout.output_room = kPass == Pass::kWrite ? room(usual, kChunkRows, 6) : room(usual, Shape::kWarpRows, 16);
        layout.places_at = shared_size(layout.output_room);
    }
    constexpr bool kHasTiles = kPass != Pass::kWrite;
    layout.output_size = layout.places_at + (kHasTiles ? sizeof(std::uint32_t) * Shape::kWarpRows : 0);
    layout.area_size = layout.output_at + (kHasTiles ? 2 : 1) * layout.output_size;
    layout.areas_at = (sizeof(TileHeader<Shape>) + 15) / 16 * 16;
    layout.size = layout.areas_at + layout.area_size * Shape::kWarps;
    return layout;
}

// Creates one column.
template <class Functor>
class RowsMaker {
public:
    // Precondition: each of the columns, if any, has `rows` rows.
    RowsMaker(Device& device, const Columns<Functor>& columns, std::int32_t rows, const Functor& functor)
        : device_(device), columns_(columns), rows_(rows), functor_(functor) {
        if (rows > kMaxRows) throw ColumnTooLarge("a column of too many rows");
        std::array<std::uint64_t, Functor::kColumns + 1> sizes{};
        for (std::size_t c = 0; c < columns.size(); ++c) sizes[c] = static_cast<std::uint64_t>(columns[c].size);
        bound_ = functor.bound(sizes.data(), static_cast<std::uint64_t>(rows));
        result_.rows = rows;
        for (const StringsView& column : columns) {
            has_large_ = has_large_ || column.large_offsets != nullptr;
            if (static_cast<std::uint64_t>(column.size) > kMaxLargeSize)
                throw ColumnTooLarge("a column of too many bytes");
        }
        allocate_offsets(has_large_ && bound_ / 100 * usual_share<Functor>() > device.small_limit());
        if (Functor::kMakesNewNulls || (Functor::kMakesNulls && has_nulls())) {
            result_.validity = device.allocate((static_cast<std::size_t>(rows) + 31) / 32 * sizeof(std::uint32_t));
        }
    }

    template <class Shape>
    DeviceStrings in_one_pass() {
        result_.bytes = device_.allocate(bound_);
        if (rows_ > 0) measure<Shape, Pass::kOnePass>();
        return std::move(result_);
    }

    // The passes may have different shapes.
    template <class Shape, class WriteShape = Shape>
    DeviceStrings in_two_passes() {
        if (rows_ > 0) measure<Shape, Pass::kMeasure>();
        result_.bytes = device_.allocate(static_cast<std::size_t>(result_.size));
        if (result_.size > 0) run_any<WriteShape, Pass::kWrite>();
        return std::move(result_);
    }

    // One pass into working memory, from which the output is copied.
    template <class Shape, class MeasureShape = Shape, class WriteShape = Shape>
    DeviceStrings trimmed() {
        Memory work;
        try {
            work = device_.allocate(bound_);
        } catch (const MemoryError&) {
            return in_two_passes<MeasureShape, WriteShape>();
        }
        if (rows_ > 0) {
            result_.bytes = std::move(work);
            measure<Shape, Pass::kOnePass>();
            work = std::move(result_.bytes);
        }
        const auto size = static_cast<std::size_t>(result_.size);
        result_.bytes = device_.allocate(size);
        if (size > 0) device_.copy(result_.bytes.data(), work.data(), size);
        return std::move(result_);
    }

private:
    bool has_nulls() const {
        bool result = false;
        for (const StringsView& column : columns_) result = result || column.validity != nullptr;
        return result;
    }

    void allocate_offsets(bool is_large) {
        const std::size_t each = is_large ? sizeof(std::int64_t) : sizeof(std::int32_t);
        result_.offsets = Memory();
        result_.is_large = is_large;
        result_.offsets =
            device_.allocate((static_cast<std::size_t>(rows_) + 1) * each, rows_ == 0 ? CLEAVE_MEMORY_ZEROED : 0);
    }

    // Runs a pass that finds out the size.
    template <class Shape, Pass kPass>
    void measure() {
        while (true) {
            run_any<Shape, kPass>();
            const std::uint64_t size = device_.wait_for_report();
            if (size > (stays_small<Functor>() ? kMaxColumnSize : kMaxLargeSize)) {
                throw ColumnTooLarge(size < kSumTooLarge ? "a column would have " + std::to_string(size) + " bytes"
                                                         : "a column has a value of more than 2^31 - 1 bytes");
            }
            const bool is_large = !stays_small<Functor>() && size > device_.small_limit();
            result_.size = static_cast<std::int64_t>(size);
            if (!is_large) return set_large(device_, result_, false);
            if (result_.is_large) return;
            allocate_offsets(true);
        }
    }

    template <class Shape, Pass kPass>
    void run_any() {
        if constexpr (!stays_small<Functor>()) {
            if (has_large_ || result_.is_large) return run<Shape, kPass, std::int64_t>();
        }
        run<Shape, kPass, std::int32_t>();
    }

    template <class Shape, Pass kPass, class Offset>
    void run() {
        RowsJob<Functor, Offset> job{};
        for (std::size_t c = 0; c < columns_.size(); ++c) job.columns[c] = columns_[c];
        job.functor = functor_;
        // Values that are long on average do not fit in shared memory. Their chunks take the slower path.
        job.layout = layout_of<Functor, Shape, kPass>(columns_, rows_, bound_);
        if (job.layout.size > device_.shared_limit()) {
            job.layout = layout_of<Functor, Shape, kPass>(columns_, rows_, bound_, true);
        }
        job.rows = rows_;
        job.tiles = (rows_ + Shape::kRows - 1) / Shape::kRows;
        if (result_.is_large) {
            job.large_offsets = reinterpret_cast<std::int64_t*>(result_.offsets.data());
        } else {
            job.offsets = reinterpret_cast<std::int32_t*>(result_.offsets.data());
        }
        if (result_.validity.size() > 0) job.validity = reinterpret_cast<std::uint32_t*>(result_.validity.data());
        job.bytes = result_.bytes.data();
        job.report = device_.report();
        job.has_nulls = has_nulls();
        const auto words = static_cast<std::size_t>(job.tiles) + 1;
        if (kPass != Pass::kWrite) {
            job.words = device_.tile_words(words);
            device_.expect_report();
        }
        const auto kernel = &rows_kernel<Functor, Offset, Shape, kPass>;
        constexpr int kThreads = kBlockThreads<Shape, kPass>;
        const int blocks = device_.blocks_at_once(kernel, kThreads, job.layout.size);
        device_.launch(kernel, static_cast<unsigned>(blocks < job.tiles ? blocks : job.tiles), kThreads,
                       job.layout.size, job);
        if (kPass != Pass::kWrite) device_.keep_words(words);
    }

    Device& device_;
    const Columns<Functor> columns_;
    const std::int32_t rows_;
    const Functor functor_;
    std::uint64_t bound_ = 0;
    bool has_large_ = false;
    DeviceStrings result_;
};

// Whether the shared memory of a multiprocessor has room for three blocks of the shape.
template <class Shape, class Functor>
bool is_handy(Device& device, const Columns<Functor>& columns, std::int32_t rows, const Functor& functor) {
    std::array<std::uint64_t, Functor::kColumns + 1> sizes{};
    for (std::size_t c = 0; c < columns.size(); ++c) sizes[c] = static_cast<std::uint64_t>(columns[c].size);
    const std::uint64_t bound = functor.bound(sizes.data(), static_cast<std::uint64_t>(rows));
    return layout_of<Functor, Shape, Pass::kOnePass>(columns, rows, bound).size <= device.shared_limit() / 3;
}

// All columns must have `rows` rows. The result is ordered on the stream of the device: do not use its memory elsewhere
// before device.wait(). Throws ColumnTooLarge for more than 2^44 bytes, for a value of more than 2^31 - 1 bytes in a
// large column, and for too many rows; CudaError and MemoryError.
template <class Functor>
DeviceStrings make_in_one_pass(Device& device, const Columns<Functor>& columns, std::int32_t rows,
                               const Functor& functor) {
    RowsMaker<Functor> maker(device, columns, rows, functor);
    using Shape = OnePassShape<Functor>;
    return is_handy<Shape>(device, columns, rows, functor) ? maker.template in_one_pass<Shape>()
                                                           : maker.template in_one_pass<LongRows>();
}

template <class Functor>
DeviceStrings make_in_two_passes(Device& device, const Columns<Functor>& columns, std::int32_t rows,
                                 const Functor& functor) {
    RowsMaker<Functor> maker(device, columns, rows, functor);
    return is_handy<ShortRows>(device, columns, rows, functor)
               ? maker.template in_two_passes<ShortRowsToMeasure<Functor>, ShortRowsToWrite>()
               : maker.template in_two_passes<LongRows>();
}

// As with one pass, bound() must be a true upper bound.
template <class Functor>
DeviceStrings make_and_trim(Device& device, const Columns<Functor>& columns, std::int32_t rows,
                            const Functor& functor) {
    RowsMaker<Functor> maker(device, columns, rows, functor);
    using Shape = OnePassShape<Functor>;
    return is_handy<Shape>(device, columns, rows, functor)
               ? maker.template trimmed<Shape, ShortRowsToMeasure<Functor>, ShortRowsToWrite>()
               : maker.template trimmed<LongRows>();
}

}  // namespace cleave::cuda
