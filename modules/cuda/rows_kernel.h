// The kernel that creates a column of values from others, row by row. A functor defines what a row becomes.
//
//   struct Functor {
//       static constexpr int kColumns;       columns of a row, 0 to 3
//       static constexpr bool kMakesNulls;   whether measure() may return a size of kNullRow
//       static constexpr bool kMakesNewNulls;   whether it may do so for a row without nulls
//       static constexpr unsigned kUsualShare;  usual maximum size of rows, as a percentage of bound(); 100 by default
//       struct Measured { std::uint32_t size; ... };   size of the result in bytes, and whatever write() needs again
//       template <class Text> Measured measure(const Row<kColumns, Text>& row) const;
//       template <class Text, class Output>
//       void write(const Row<kColumns, Text>& row, Measured measured, Output out) const;
//       static constexpr bool kStaysSmall = true;   see rows.h; optional
//       std::uint64_t bound(const std::uint64_t* sizes, std::uint64_t rows) const;   on the host
//   };
//
// measure() must be quick and read only the row. write() writes exactly measured.size bytes to an output of output.h.
// It is called once for each row, but not for 0 bytes; measure() is called once or twice. bound() is the most bytes
// that rows can produce if their values have sizes[c] bytes altogether in column c. With two passes it may be an
// estimate. Shared memory has room for kUsualShare percent of it; larger output is slower. If Measured holds only the
// size, kWrite takes the size from the offsets and does not measure.
//
// A warp takes 64 rows at a time, called a chunk: two strips of one row per lane. It has its own part of shared memory,
// and while it works on a chunk, it copies the values of the next chunk there and loads the offsets of the one after
// that. Lanes wait only for the other lanes of their warp. For kWrite this is all, because the offsets say where each
// row goes.
//
// The other passes have to find out where rows go. In them, each warp of a block has the same number of consecutive
// chunks, and all chunks of a block together are a tile. One extra warp, the steward, finds out where the output of a
// tile begins. Meanwhile the others measure the next tile, so a block waits for the tiles of other blocks only if they
// lag behind by more than the time that a tile takes:
//
//   each warp                                       steward
//   for each chunk of tile n:
//     measure the rows, add up over the lanes       add up the warps of tile n - 1, publish the sum,
//     keep where each row begins in the output      take the number of tile n + 1, look back to find where
//     write the rows one after another into         tile n - 1 begins
//       the warp's output in shared memory
//   ---- barrier ----
//   for tile n - 1: copy the output to global
//     memory in 16-byte words, write offsets
//
// Copies overlap the end of a tile: the first chunk of the next tile is being copied while the last one of this tile is
// measured. Therefore tile numbers are taken early, and a block knows its next two.
//
// The tiles of a block must be far apart, at least at first. If the second tile of a block directly followed its first,
// each block would wait for the block before it to finish both. So a block takes its second number once it has measured
// its first tile, and further ones once all blocks have taken the same number of tiles.
//
// A chunk is `staged` if the bytes of each column fit in their room in shared memory. The rows of other chunks are read
// in place, which is slower. If the output of a warp does not fit in its room, chunks from there on are measured again
// and written directly to their place once it is known. Values of any size are handled correctly.
//
// There are three passes. kOnePass does everything, into an output with room for bound(). kMeasure writes only offsets.
// kWrite takes these offsets and writes the bytes.
//
// Tiles are published in an array of words that starts at 0. Each kernel clears the array that the previous kernel
// used, for the next kernel: see Device::tile_words().
//
// With 64-bit offsets, one tile may have more than 2^32 bytes. The places of a warp's rows are still kept modulo 2^32:
// rows are smaller than that, so a place below that of the row before it shows that another 2^32 bytes have passed.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "cuda/look_back.h"
#include "cuda/output.h"
#include "cuda/rows_job.h"
#include "cuda/shared_copy.h"
#include "cuda/shared_output.h"
#include "cuda/text.h"
#include "cuda_primitives.h"

namespace cleave::cuda {

template <class Functor, class Offset, class Shape, Pass kPass>
class TileWork {
public:
    static constexpr int kColumns = Functor::kColumns;
    using Header = TileHeader<Shape>;
    using Measured = typename Functor::Measured;
    using Job = RowsJob<Functor, Offset>;
    using Place = std::make_unsigned_t<Offset>;
    static constexpr bool kMayBeLarge = sizeof(Offset) > sizeof(std::int32_t);
    using InShared = std::conditional_t<kColumns == 0, PlainText, SharedText>;  // without columns, either would do

    __device__ __forceinline__ explicit TileWork(const Job& job)
        : job_(job),
          header_(*reinterpret_cast<Header*>(block_memory())),
          warp_(static_cast<std::int32_t>(threadIdx.x / 32)),
          lane_(static_cast<std::int32_t>(threadIdx.x % 32)),
          area_(block_memory() + job.layout.areas_at + job.layout.area_size * (threadIdx.x / 32)) {}

    __device__ __forceinline__ void run_write() {
        clear_output(0, job_.layout.output_room);
        const std::int32_t chunks = (job_.rows - 1) / kChunkRows + 1;
        const std::int32_t step = gridDim.x * Shape::kWarps;
        std::int32_t chunk = blockIdx.x * Shape::kWarps + warp_;
        const auto row_of = [&](std::int32_t number) { return number < chunks ? number * kChunkRows : job_.rows; };
        Chunk now{};
        Chunk next{};
        load_bounds(now.bounds, row_of(chunk));
        load_bounds(next.bounds, row_of(chunk + step));
        begin_stage(now, 0);
        for (int stage = 0; chunk < chunks; chunk += step, stage ^= 1) {
            begin_stage(next, stage ^ 1);
            ChunkBounds later;
            load_bounds(later, row_of(chunk + 2 * step));
            wait_for_copies<1>();
            __syncwarp();
            if (now.is_staged != 0) {
                write_chunk<InShared>(chunk * kChunkRows, now, stage);
            } else {
                write_chunk<PlainText>(chunk * kChunkRows, now, stage);
            }
            __syncwarp();
            now = next;
            next.bounds = later;
        }
        wait_for_copies<0>();
    }

    __device__ __forceinline__ void run_tiles() {
        clear_other_words();
        if (warp_ == Shape::kWarps) {
            steer();
        } else {
            work();
        }
    }

private:
    // Where the values of a lane's row are in each column and, with kWrite, in the result.
    static constexpr int kArrays = kColumns + (kPass == Pass::kWrite ? 1 : 0);
    struct Bounds {
        std::uint32_t begin[kArrays > 0 ? kArrays : 1];
        std::uint32_t end[kArrays > 0 ? kArrays : 1];
    };

    // Bounds are kept modulo 2^32, because registers are scarce. With 64-bit offsets, the first lane has the upper
    // halves of where the chunk begins, and the last lane of where it ends.
    struct ChunkBounds {
        Bounds strip[kStrips];
        std::uint32_t upper[kMayBeLarge && kArrays > 0 ? kArrays : 1];
    };

    struct Chunk {
        ChunkBounds bounds;
        std::uint32_t
            skew[kColumns > 0 ? kColumns : 1];  // added to the start of a value, gives its position in the stage
        std::uint32_t is_staged;                // 1 or 0
    };

    // The current chunk, which is in shared memory or being copied there, and the next one, whose bounds are known.
    struct Chunks {
        Chunk now{};
        Chunk next{};
        int stage = 0;           // of `now`
        bool are_begun = false;  // whether they already belong to the next tile
    };

    // The warp's part of a tile after it has been measured.
    struct Done {
        std::int32_t first;            // row
        Place before;                  // bytes of the tile's output before this warp
        std::uint32_t gathered;        // bytes in shared memory
        std::int32_t gathered_strips;  // the strips that these bytes come from
        bool is_set;
    };

    static constexpr std::uint32_t kLongRow = 1U << 27;  // 32 rows of this size exceed 2^32 - 1
    static constexpr std::uint64_t kTooLarge = UINT64_MAX;
    static constexpr std::int32_t kUnknown = -1;  // in place of a tile number
    // Whether the next tile begins while one is measured. With one chunk per warp, this would mean looking two tiles
    // ahead.
    static constexpr bool kLooksAhead = Shape::kChunks > 1;

    __device__ __forceinline__ void clear_other_words() const {
        constexpr std::uint32_t kThreads = kBlockThreads<Shape, kPass>;
        const std::uint32_t step = gridDim.x * kThreads;
        for (std::uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < job_.words.other_count; i += step) {
            job_.words.other[i] = 0;
        }
    }

    __device__ __forceinline__ std::int32_t take_tile() const {
        const std::uint32_t tile = atomicAdd(reinterpret_cast<std::uint32_t*>(job_.words.now), 1U);
        return tile < static_cast<std::uint32_t>(job_.tiles) ? static_cast<std::int32_t>(tile) : job_.tiles;
    }

    // Waits briefly until all blocks have taken `count` tiles. Gives up if that takes too long, because it only affects
    // speed.
    __device__ __forceinline__ void wait_for_others(std::uint32_t count) const {
        for (int reads = 0; reads < 64 && load_relaxed(job_.words.now) < std::uint64_t{count} * gridDim.x; ++reads) {
            pause_briefly();
        }
    }

    // Runs in the steward. A worker reads the numbers of its next two tiles after the barrier before them.
    __device__ __forceinline__ void steer() {
        std::int32_t tiles[3] = {0, 0, 0};  // in lane 0: the tile being measured, and the next two
        if (lane_ == 0) header_.tile[0] = tiles[0] = take_tile();
        __syncthreads();
        __syncthreads();
        if (lane_ == 0) header_.tile[1] = tiles[1] = take_tile();
        for (unsigned number = 0;; ++number) {
            __syncthreads();
            const std::int32_t tile = __shfl_sync(~0U, tiles[0], 0);
            if (tile >= job_.tiles) break;
            const unsigned slot = number % 2;
            std::uint64_t total = 0;
#pragma unroll
            for (int i = 0; i < Shape::kWarps; ++i) total += header_.sums[slot][i];
            std::int32_t later = 0;
            if (lane_ == 0) {
                if (number == 0) {
                    wait_for_others(2);
                    header_.tile[2] = tiles[2] = take_tile();
                    wait_for_others(3);
                }
                header_.tile[(number + 3) % 4] = later = take_tile();
            }
            __syncwarp();
            const std::uint64_t base = look_back(job_.words.now + 1, tile, total);
            if (lane_ == 0) {
                // A column that is too large fails as a whole, so its contents do not matter.
                header_.base[slot] = base + total <= (is_large() ? kMaxLargeSize : kMaxColumnSize) ? base : kTooLarge;
                if (tile + 1 == job_.tiles) {
                    set_offset(job_.rows, static_cast<Place>(base + total));
                    store_report(&job_.report->size, base + total);
                }
            }
            tiles[0] = tiles[1];
            tiles[1] = tiles[2];
            tiles[2] = later;
        }
    }

    __device__ __forceinline__ bool is_large() const { return kMayBeLarge && job_.large_offsets != nullptr; }

    // Sets and reads an offset of the result.
    __device__ __forceinline__ void set_offset(std::int32_t row, Place place) const {
        if (is_large()) {
            job_.large_offsets[row] = static_cast<std::int64_t>(place);
        } else {
            job_.offsets[row] = static_cast<std::int32_t>(place);
        }
    }
    __device__ __forceinline__ Offset offset_of(std::int32_t row) const {
        return is_large() ? static_cast<Offset>(job_.large_offsets[row]) : job_.offsets[row];
    }

    __device__ __forceinline__ void work() {
        if (kPass == Pass::kOnePass) {
            clear_output(0, job_.layout.output_room);
            clear_output(1, job_.layout.output_room);
        }
        __syncthreads();
        Done before{};
        Chunks chunks;
        for (unsigned number = 0;; ++number) {
            const unsigned slot = number % 2;
            const std::int32_t tile = header_.tile[number % 4];
            const std::int32_t next = kLooksAhead && number > 1 ? header_.tile[(number + 1) % 4] : kUnknown;
            Done done{};
            if (tile < job_.tiles) measure_chunks(chunks, tile, next, slot, done);
            if (number == 0) __syncthreads();
            __syncthreads();
            if (before.is_set) finish(before, slot ^ 1);
            if (tile >= job_.tiles) break;
            for (int i = 0; i < warp_; ++i) done.before += static_cast<Place>(header_.sums[slot][i]);
            before = done;
        }
        wait_for_copies<0>();
    }

    // Writes the tile that was measured.
    __device__ __forceinline__ void finish(const Done& done, unsigned slot) const {
        const std::uint64_t base = header_.base[slot];
        if (base == kTooLarge) return;
        const Place begin = static_cast<Place>(base) + done.before;
        store_offsets(done.first, begin, slot);
        if constexpr (kPass == Pass::kOnePass) {
            store_shared<false>(job_.bytes + begin, output_area(slot), 0, done.gathered,
                                static_cast<std::uint32_t>(lane_));
            if (done.gathered_strips < kStrips * Shape::kChunks) write_directly(done, begin, slot);
            __syncwarp();
            clear_output(slot, done.gathered);
        }
    }

    // The first row of the warp in the tile, which may be past the last row.
    __device__ __forceinline__ std::int32_t warp_row(std::int32_t tile) const {
        return tile < job_.tiles ? tile * Shape::kRows + warp_ * Shape::kWarpRows : job_.rows;
    }

    // The row, or the last one.
    __device__ __forceinline__ std::int32_t known_row(std::int32_t row) const {
        return row < job_.rows ? row : job_.rows - 1;
    }

    // Loads the bounds of the chunk that begins with row `first`. Lanes past the last row use the last row.
    __device__ __forceinline__ void load_bounds(ChunkBounds& bounds, std::int32_t first) const {
#pragma unroll
        for (int strip = 0; strip < kStrips; ++strip) {
            const std::int32_t wanted = first + kLanes * strip + lane_;
            const std::int32_t row = known_row(wanted);
#pragma unroll
            for (int c = 0; c < kArrays; ++c) {
                const Offset begin = c < kColumns ? offset_at<Offset>(job_.columns[c], row) : offset_of(row);
                const Offset end = c < kColumns ? offset_at<Offset>(job_.columns[c], row + 1) : offset_of(row + 1);
                bounds.strip[strip].begin[c] = static_cast<std::uint32_t>(begin);
                bounds.strip[strip].end[c] = static_cast<std::uint32_t>(end);
                if constexpr (kMayBeLarge) {
                    if (strip == 0) bounds.upper[c] = static_cast<std::uint32_t>(begin >> 32);
                    if (strip + 1 == kStrips && lane_ + 1 == kLanes)
                        bounds.upper[c] = static_cast<std::uint32_t>(end >> 32);
                }
            }
        }
    }

    // The lane's offset with its upper half, in all lanes.
    __device__ __forceinline__ static Offset whole(std::uint32_t low, const ChunkBounds& bounds, int c, int lane) {
        auto offset = static_cast<Place>(__shfl_sync(~0U, low, lane));
        if constexpr (kMayBeLarge) offset |= Place{__shfl_sync(~0U, bounds.upper[c], lane)} << 32;
        return static_cast<Offset>(offset);
    }

    // Where the bytes of the chunk begin and end in a column.
    __device__ __forceinline__ static Offset begin_of(const ChunkBounds& bounds, int c) {
        return whole(bounds.strip[0].begin[c], bounds, c, 0);
    }
    __device__ __forceinline__ static Offset end_of(const ChunkBounds& bounds, int c) {
        return whole(bounds.strip[kStrips - 1].end[c], bounds, c, kLanes - 1);
    }

    // Moves the bounds of the next strip to the front. Strips are processed in a loop to keep the code small.
    __device__ __forceinline__ static void go_on(ChunkBounds& bounds) {
#pragma unroll
        for (int strip = 0; strip + 1 < kStrips; ++strip) bounds.strip[strip] = bounds.strip[strip + 1];
    }

    // Starts one group of copies, which may be empty.
    __device__ __forceinline__ void begin_stage(Chunk& chunk, int stage_number) const {
        Offset from[kColumns > 0 ? kColumns : 1];
        Place size[kColumns > 0 ? kColumns : 1];
        bool is_staged = true;
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
            from[c] = begin_of(chunk.bounds, c);
            size[c] = static_cast<Place>(end_of(chunk.bounds, c) - from[c]);
            is_staged = is_staged && size[c] <= job_.layout.text_room[c];
        }
        chunk.is_staged = is_staged ? 1 : 0;
        if (is_staged) {
            std::uint8_t* const to = stage_at(stage_number);
#pragma unroll
            for (int c = 0; c < kColumns; ++c) {
                const StringsView& column = job_.columns[c];
                chunk.skew[c] =
                    copy_to_shared(to + job_.layout.text_at[c], column.bytes, static_cast<Place>(column.size), from[c],
                                   static_cast<std::uint32_t>(size[c]), static_cast<std::uint32_t>(lane_));
            }
        }
        end_copy_group();
    }

    __device__ __forceinline__ std::uint8_t* stage_at(int number) const {
        return area_ + (number != 0 ? job_.layout.stage_size : 0);
    }

    // The lane's row in the first strip of the chunk.
    template <class Text>
    __device__ __forceinline__ Row<kColumns, Text> row_at(std::int32_t row_index, const Chunk& chunk,
                                                          int stage_number) const {
        Row<kColumns, Text> row;
        row.valid = ~0U;
        row.index = row_index;
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
            const StringsView& column = job_.columns[c];
            const std::uint32_t begin = chunk.bounds.strip[0].begin[c];
            const std::uint32_t size = chunk.bounds.strip[0].end[c] - begin;
            if constexpr (std::is_same_v<Text, SharedText>) {
                row.column[c].words =
                    reinterpret_cast<const std::uint32_t*>(stage_at(stage_number) + job_.layout.text_at[c]);
                row.column[c].at = begin + chunk.skew[c];
                row.column[c].size = size;
            } else {
                row.column[c] = {column.bytes + (kMayBeLarge ? offset_at<Offset>(column, known_row(row_index)) : begin),
                                 size};
            }
        }
        if (job_.has_nulls && row_index < job_.rows) {
#pragma unroll
            for (int c = 0; c < kColumns; ++c) {
                if (!is_valid(job_.columns[c], row_index)) row.valid &= ~(1U << c);
            }
        }
        return row;
    }

    // Measures the row, if there is one. Nulls measure 0 bytes.
    template <class R>
    __device__ __forceinline__ Measured measure(const R& row, bool& is_null) const {
        Measured measured{};
        is_null = false;
        if (row.index < job_.rows) {
            measured = job_.functor.measure(row);
            is_null = Functor::kMakesNulls && measured.size == kNullRow;
            if (is_null) measured.size = 0;
        }
        return measured;
    }

    // Measures the warp's chunks of a tile, and begins the next tile's chunks if its number is known.
    __device__ __forceinline__ void measure_chunks(Chunks& chunks, std::int32_t tile, std::int32_t next_tile,
                                                   unsigned slot, Done& done) {
        const std::int32_t first = warp_row(tile);
        const std::int32_t next_first = next_tile != kUnknown ? warp_row(next_tile) : job_.rows;
        const auto row_of = [&](int chunk) {
            return chunk < Shape::kChunks ? first + kChunkRows * chunk
                                          : next_first + kChunkRows * (chunk - Shape::kChunks);
        };
        done.first = first;
        done.is_set = true;
        std::uint64_t sum = 0;
        std::uint32_t* const places_at = places(slot);
        std::uint32_t* const output_at = output(slot);
        if (!chunks.are_begun) {
            wait_for_copies<0>();
            __syncwarp();
            load_bounds(chunks.now.bounds, first);
            load_bounds(chunks.next.bounds, row_of(1));
            begin_stage(chunks.now, chunks.stage);
        }
#pragma unroll 1
        for (int chunk = 0; chunk < Shape::kChunks; ++chunk, chunks.stage ^= 1) {
            begin_stage(chunks.next, chunks.stage ^ 1);
            ChunkBounds later{};
            load_bounds(later, row_of(chunk + 2));
            wait_for_copies<1>();
            __syncwarp();
#pragma unroll 1
            for (int strip = 0; strip < kStrips; ++strip) {
                const std::int32_t local = kChunkRows * chunk + kLanes * strip;
                if (chunks.now.is_staged != 0) {
                    measure_strip<InShared>(first, local, chunks.now, chunks.stage, places_at, output_at, sum, done);
                } else {
                    measure_strip<PlainText>(first, local, chunks.now, chunks.stage, places_at, output_at, sum, done);
                }
                go_on(chunks.now.bounds);
            }
            __syncwarp();
            chunks.now = chunks.next;
            chunks.next.bounds = later;
        }
        chunks.are_begun = next_tile != kUnknown;
        if (lane_ == 0) header_.sums[slot][warp_] = sum;
    }

    // Measures the first strip of the chunk. It begins with the warp's row `local`; the warp begins with row
    // `warp_first`.
    template <class Text>
    __device__ __forceinline__ void measure_strip(std::int32_t warp_first, std::int32_t local, const Chunk& now,
                                                  int stage_number, std::uint32_t* places_at, std::uint32_t* output_at,
                                                  std::uint64_t& sum, Done& done) const {
        const std::int32_t first = warp_first + local;
        const auto row = row_at<Text>(first + lane_, now, stage_number);
        bool is_null = false;
        const Measured measured = measure(row, is_null);
        if (job_.validity != nullptr) {
            const unsigned valid = __ballot_sync(~0U, row.index < job_.rows && !is_null);
            if (lane_ == 0 && first < job_.rows) job_.validity[first / 32] = valid;
        }
        std::uint32_t total = 0;
        const std::uint32_t place = sum_before(measured.size, total);
        places_at[local + lane_] = static_cast<std::uint32_t>(sum) + place;
        const bool is_long = __any_sync(~0U, measured.size >= kLongRow) != 0;
        sum += is_long ? warp_sum(measured.size) : total;
        if constexpr (kMayBeLarge && std::is_same_v<Text, PlainText>) {
            if (__any_sync(~0U, has_long_value(row.index)) != 0) sum += kSumTooLarge;
        }
        if constexpr (kPass == Pass::kOnePass) {
            const std::int32_t strip = local / kLanes;
            if (done.gathered_strips < strip || is_long || total > job_.layout.output_room - done.gathered) return;
            if (measured.size > 0) job_.functor.write(row, measured, WordOutput{output_at, done.gathered + place});
            done.gathered += total;
            done.gathered_strips = strip + 1;
        }
    }

    // Whether a value of the row is too long. Its size in the row is wrong, so the column must fail as a whole.
    __device__ __forceinline__ bool has_long_value(std::int32_t row_index) const {
        const std::int32_t row = known_row(row_index);
        bool result = false;
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
            const StringsView& column = job_.columns[c];
            const Offset size = offset_at<Offset>(column, row + 1) - offset_at<Offset>(column, row);
            result = result || static_cast<Place>(size) > kMaxColumnSize;
        }
        return result;
    }

    // The sum over the lanes before this one; `all` receives the sum over all lanes.
    __device__ __forceinline__ std::uint32_t sum_before(std::uint32_t size, std::uint32_t& all) const {
        std::uint32_t sum = size;
#pragma unroll
        for (int distance = 1; distance < kLanes; distance *= 2) {
            sum = add_from_below(sum, static_cast<std::uint32_t>(distance));
        }
        all = __shfl_sync(~0U, sum, kLanes - 1);
        return sum - size;
    }

    __device__ __forceinline__ std::uint8_t* output_area(unsigned slot) const {
        return area_ + job_.layout.output_at + (slot != 0 ? job_.layout.output_size : 0);
    }
    __device__ __forceinline__ std::uint32_t* output(unsigned slot) const {
        return reinterpret_cast<std::uint32_t*>(output_area(slot));
    }
    __device__ __forceinline__ std::uint32_t* places(unsigned slot) const {
        return reinterpret_cast<std::uint32_t*>(output_area(slot) + job_.layout.places_at);
    }

    __device__ __forceinline__ void clear_output(unsigned slot, std::uint32_t size) const {
        clear_shared(output_area(slot), size, static_cast<std::uint32_t>(lane_));
    }

    __device__ __forceinline__ void store_offsets(std::int32_t first, Place base, unsigned slot) const {
        std::uint32_t last = 0;  // the place of the row before the strip
#pragma unroll 4
        for (std::int32_t local = lane_; local < Shape::kWarpRows; local += kLanes) {
            Place place = places(slot)[local];
            if constexpr (kMayBeLarge) {
                const auto low = static_cast<std::uint32_t>(place);
                const std::uint32_t below = __shfl_up_sync(~0U, low, 1);
                const unsigned passed = __ballot_sync(~0U, low < (lane_ > 0 ? below : last));
                place += base + (static_cast<Place>(__popc(passed & (~0U >> (kLanes - 1 - lane_)))) << 32);
                base += static_cast<Place>(__popc(passed)) << 32;
                last = __shfl_sync(~0U, low, kLanes - 1);
            } else {
                place += base;
            }
            if (first + local < job_.rows) set_offset(first + local, place);
        }
    }

    // Writes the warp's rows that were not gathered.
    __device__ __forceinline__ void write_directly(const Done& done, Place base, unsigned slot) const {
#pragma unroll 1
        for (int strip = done.gathered_strips; strip < kStrips * Shape::kChunks; ++strip) {
            const std::int32_t local = kLanes * strip;
            Chunk chunk{};
            load_bounds(chunk.bounds, done.first + local);
            const auto row = row_at<PlainText>(done.first + local + lane_, chunk, 0);
            bool is_null = false;
            const Measured measured = measure(row, is_null);
            if (measured.size == 0) continue;
            if constexpr (kMayBeLarge) {
                // The lane has just stored this offset.
                job_.functor.write(row, measured, ByteOutput{job_.bytes + offset_of(row.index)});
            } else {
                job_.functor.write(row, measured, ByteOutput{job_.bytes + base + places(slot)[local + lane_]});
            }
        }
    }

    // Writes the chunk that begins with row `first`. For kWrite.
    template <class Text>
    __device__ __forceinline__ void write_chunk(std::int32_t first, Chunk& chunk, int stage_number) const {
        const Offset begin = begin_of(chunk.bounds, kColumns);
        const auto total = static_cast<Place>(end_of(chunk.bounds, kColumns) - begin);
        std::uint8_t* const to = job_.bytes + begin;
        const std::uint32_t lead = shared_lead(to);
        const bool is_gathered = total <= job_.layout.output_room;
#pragma unroll 1
        for (int strip = 0; strip < kStrips; ++strip) {
            const auto row = row_at<Text>(first + kLanes * strip + lane_, chunk, stage_number);
            const std::uint32_t row_begin = chunk.bounds.strip[0].begin[kColumns];
            const std::uint32_t size = chunk.bounds.strip[0].end[kColumns] - row_begin;
            go_on(chunk.bounds);
            if (size == 0 || row.index >= job_.rows) continue;
            Measured measured{};
            if constexpr (sizeof(Measured) == sizeof(size)) {
                measured.size = size;
            } else {
                measured = job_.functor.measure(row);
            }
            if (is_gathered) {
                const std::uint32_t at = lead + (row_begin - static_cast<std::uint32_t>(begin));
                job_.functor.write(row, measured, WordOutput{output(0), at});
            } else {
                job_.functor.write(row, measured,
                                   ByteOutput{job_.bytes + (kMayBeLarge ? offset_of(row.index) : row_begin)});
            }
        }
        __syncwarp();
        if (!is_gathered) return;
        const auto size = static_cast<std::uint32_t>(total);
        store_shared<true>(to, output_area(0), lead, size, static_cast<std::uint32_t>(lane_));
        __syncwarp();
        clear_output(0, lead + size);
    }

    const Job& job_;
    Header& header_;
    const std::int32_t warp_;
    const std::int32_t lane_;
    std::uint8_t* const area_;  // of the warp
};

template <class Functor, class Offset, class Shape, Pass kPass>
__global__ void __launch_bounds__(kBlockThreads<Shape, kPass>, Shape::kBlocksAtOnce)
    rows_kernel(const __grid_constant__ RowsJob<Functor, Offset> job) {
    TileWork<Functor, Offset, Shape, kPass> work(job);
    if constexpr (kPass == Pass::kWrite) {
        work.run_write();
    } else {
        work.run_tiles();
    }
}

}  // namespace cleave::cuda
