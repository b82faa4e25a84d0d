// Runs the published example in one pass and in two, with many tile shapes and memory from a pool, to find the shapes
// for rows.h. It takes a long time to compile, so it is built only with -D CLEAVE_CUDA_SHAPES=ON, preferably for a
// single architecture.
//
//   shapes_bench [ROWS...]       64000000 and 600000 rows by default
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

#include "cuda/bench/people.h"
#include "cuda/bench/public_name.h"
#include "cuda/bench/timing.h"
#include "cuda/device.h"
#include "cuda/managers.h"
#include "cuda/rows.h"

namespace cleave::cuda {
namespace {

struct Input {
    Device& device;
    StringsView names;
    StringsView visibilities;
    const HostColumn& expected;
};

template <class Shape, class WriteShape>
void time_shape(const Input& input, int measure_blocks, int write_blocks) {
    const Columns<PublicName> columns{input.names, input.visibilities};
    const std::int32_t rows = input.names.rows;
    const PublicName functor;
    const auto time = [&](const char* name, auto make) {
        const Timing timing = time_runs(input.device, make);
        soil(input.device, input.names);
        const bool right = is_right(input.device, make(), input.expected);
        std::printf(
            "%-10s warps %2d chunks %d blocks %d, write: warps %2d blocks %d: rows %8d best_us %9.1f median_us %9.1f "
            "%s\n",
            name, Shape::kWarps, Shape::kChunks, measure_blocks, WriteShape::kWarps, write_blocks, rows, timing.best_us,
            timing.median_us, right ? "right" : "WRONG");
        std::fflush(stdout);
    };
    if constexpr (std::is_same_v<Shape, WriteShape>) {
        time("one-pass",
             [&] { return RowsMaker<PublicName>(input.device, columns, rows, functor).template in_one_pass<Shape>(); });
    }
    time("two-passes", [&] {
        return RowsMaker<PublicName>(input.device, columns, rows, functor).template in_two_passes<Shape, WriteShape>();
    });
}

template <int kWarps, int kChunks, int kBlocks>
void time_one(const Input& input) {
    using Shape = TileShape<kWarps, kChunks, kBlocks>;
    time_shape<Shape, Shape>(input, kBlocks, kBlocks);
}

// One shape for measuring, one for writing.
template <int kWarps, int kChunks, int kBlocks, int kWriteWarps, int kWriteBlocks>
void time_two(const Input& input) {
    time_shape<TileShape<kWarps, kChunks, kBlocks>, TileShape<kWriteWarps, 1, kWriteBlocks>>(input, kBlocks,
                                                                                             kWriteBlocks);
}

void time_shapes(std::int64_t rows) {
    const HostColumn names = repeat(&Person::name, rows);
    const HostColumn visibilities = repeat(&Person::visibility, rows);
    const HostColumn expected = repeat(&Person::redacted, rows);
    Device device(open_manager("cuda-pool:4294967296"));
    const DeviceStrings name_column = to_device(device, names.offsets, names.bytes);
    const DeviceStrings visibility_column = to_device(device, visibilities.offsets, visibilities.bytes);
    const Input input{device, name_column.view(), visibility_column.view(), expected};
#ifdef CLEAVE_SHAPES
    CLEAVE_SHAPES
#else
    time_one<8, 2, 5>(input);
    time_one<8, 4, 4>(input);
    time_one<8, 4, 5>(input);
    time_one<8, 4, 6>(input);
    time_one<8, 8, 4>(input);
    time_one<4, 4, 10>(input);
    time_one<16, 2, 3>(input);
#endif
}

}  // namespace
}  // namespace cleave::cuda

int main(int count, char** words) {
    try {
        std::vector<std::int64_t> sizes;
        for (int i = 1; i < count; ++i) sizes.push_back(std::atoll(words[i]));
        if (sizes.empty()) sizes = {64'000'000, 600'000};
        for (const std::int64_t rows : sizes) cleave::cuda::time_shapes(rows);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "shapes_bench: %s\n", error.what());
        return 1;
    }
}
