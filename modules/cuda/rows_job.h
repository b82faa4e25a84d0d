// The data of rows_kernel.h: a row, how rows are divided, the layout of shared memory, and the job of a kernel.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/device.h"
#include "cuda/strings.h"
#include "cuda/text.h"

namespace cleave::cuda {

constexpr std::uint32_t kNullRow = UINT32_MAX;
// Added to the size of a result for each 32 rows with a value that is too long. As many as fit in a column add up to
// 2^60 bytes.
constexpr std::uint64_t kSumTooLarge = 8 * kMaxLargeSize;
constexpr std::int32_t kLanes = 32;
constexpr int kStrips = 2;  // per chunk; a strip is one row per lane
constexpr std::int32_t kChunkRows = kLanes * kStrips;

template <int kColumns, class Text>
struct Row {
    Text column[kColumns > 0 ? kColumns : 1];
    std::uint32_t valid;  // bit c: column c has a value
    std::int32_t index;

    __device__ __forceinline__ bool has(int c) const { return (valid >> c & 1) != 0; }
    __device__ __forceinline__ bool has_all() const { return valid == ~0U; }
};

// What a functor declares, for those that need to know no more of a row than its size.
template <int kColumnCount, bool kNulls, bool kNewNulls>
struct SizedRows {
    static constexpr int kColumns = kColumnCount;
    static constexpr bool kMakesNulls = kNulls;
    static constexpr bool kMakesNewNulls = kNewNulls;

    struct Measured {
        std::uint32_t size;
    };
};

__device__ __forceinline__ bool is_valid(const StringsView& column, std::int32_t row) {
    if (column.validity == nullptr) return true;
    const std::int64_t bit = std::int64_t{column.validity_begin} + row;
    return (column.validity[bit / 32] >> bit % 32 & 1) != 0;
}

// Where a row begins. With 32-bit offsets, the column must not be large; with 64-bit ones, it may be.
template <class Offset>
__device__ __forceinline__ Offset offset_at(const StringsView& column, std::int32_t row) {
    if constexpr (sizeof(Offset) > sizeof(std::int32_t)) {
        if (column.large_offsets != nullptr) return column.large_offsets[row];
    }
    return column.offsets[row];
}

enum class Pass : std::uint8_t { kOnePass, kMeasure, kWrite };

// How rows are divided. Registers are limited so that kBlocks blocks fit on one multiprocessor.
template <int kWarpCount, int kChunkCount, int kBlocks>
struct TileShape {
    static constexpr int kWarps = kWarpCount;
    // With tiles, one extra warp is the steward.
    template <Pass kPass>
    static constexpr int kThreads = kLanes*(kPass == Pass::kWrite ? kWarps : kWarps + 1);
    static constexpr int kChunks = kChunkCount;  // per warp
    static constexpr int kWarpRows = kChunkRows * kChunks;
    static constexpr int kRows = kWarpRows * kWarps;
    static constexpr int kBlocksAtOnce = kBlocks;
    static_assert(kWarps >= 1 && kWarps <= 31 && kChunks >= 1 && kRows <= 4096);
};

// Threads per block. With tiles, one extra warp is the steward.
template <class Shape, Pass kPass>
constexpr int kBlockThreads = kLanes*(kPass == Pass::kWrite ? Shape::kWarps : Shape::kWarps + 1);

// The layout of shared memory, in bytes. The header comes first, then an area for each warp. An area contains two
// stages, one for the current chunk and one for the next, then the output and where rows begin in it. With tiles there
// are two outputs, for the current tile and the previous one.
struct TileLayout {
    static constexpr int kMaxColumns = 3;
    std::uint32_t text_room[kMaxColumns] = {};  // bytes of a chunk that fit
    std::uint32_t text_at[kMaxColumns] = {};    // position in a stage
    std::uint32_t stage_size = 0;
    std::uint32_t output_at = 0;    // position in an area
    std::uint32_t output_room = 0;  // bytes of output that fit
    std::uint32_t places_at = 0;    // position after the output
    std::uint32_t output_size = 0;  // bytes of the output and the places of a tile
    std::uint32_t areas_at = 0;
    std::uint32_t area_size = 0;
    std::uint32_t size = 0;  // total
};

// Kernels with 32-bit offsets are for columns none of which is large. Those with 64-bit ones are for all others: the
// columns and the result may each be large or not.
template <class Functor, class Offset>
struct RowsJob {
    static constexpr int kColumns = Functor::kColumns;
    StringsView columns[kColumns > 0 ? kColumns : 1];
    Functor functor;
    TileLayout layout;
    std::int32_t rows;
    std::int32_t tiles;
    std::int32_t* offsets;    // of the result; null if it is large
    std::uint32_t* validity;  // of the result; null if it has none
    std::uint8_t* bytes;      // of the result
    TileWords words;          // first the number of the next tile, then one word per tile
    bool has_nulls;           // whether a column may have nulls
    Report* report;
    std::int64_t* large_offsets;  // of the result; null unless it is large
};

// Tile n of the block uses slot n % 2, or n % 4 for the numbers, which are known earlier.
template <class Shape>
struct TileHeader {
    std::uint64_t sums[2][Shape::kWarps];  // over the rows of each warp
    std::uint64_t base[2];                 // where the output of the tile begins
    std::int32_t tile[4];                  // the number of the tile
};

}  // namespace cleave::cuda
