// Finds the fields and records of a page of CSV that consists of whole records. A single kernel measures, scans and
// writes, and reads each byte once.
//
// A tile is kTileSize bytes. Each thread has 64 of them, and like the CPU kernels (src/core/kernels/step.h) computes
// masks with a bit for each byte: quotes, delimiters, line ends. An exclusive or over all quotes before a byte tells
// whether it is inside quotes. Apart from that, a thread only needs to know the last byte before its own.
//
//   separators  delimiters and terminators outside quotes: each ends a field
//   starts      the first bytes of records
//   odd         bytes on which readers may disagree. A single one makes the whole page odd, and the CPU reads it
//
//   measure  treat the tile as a function of whether it begins inside quotes: does it end in the opposite
//            state, and how many fields end and records start in it, in either case
//   scan     within the tile through exchanges within warps; between tiles with parse_look_back.h. While earlier tiles
//            are still being processed, gather the positions in shared memory as if the tile began outside quotes
//   write    the positions in order; if the tile begins inside quotes, gather them again first
//
// Escapes are not handled here: the CPU reads pages in dialects that have them.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "cleave/field_row.h"
#include "cuda/parse.h"
#include "cuda/parse_look_back.h"
#include "cuda_primitives.h"

namespace cleave::cuda {

constexpr int kParseThreads = 256;
constexpr std::uint32_t kStepBytes = kTileSize / kParseThreads;  // per thread
static_assert(kStepBytes == 64);

struct ParseResult {
    std::uint32_t ends;  // the number of ends, including those for which there was no room
    std::uint32_t rows;
    std::uint32_t odd;  // non-zero if the page is odd
};

struct ParseJob {
    const std::uint8_t* bytes;  // aligned to 16 bytes; readable up to `size` rounded up to a multiple of 64
    std::uint32_t size;         // 1 .. kMaxPageSize
    std::uint32_t tiles;
    ParseMarkup markup;
    std::uint64_t* states;  // one per tile, all initially 0
    std::uint32_t* ticket;  // the next tile, initially 0
    std::uint32_t* ends;    // see RecordBlock::ends
    FieldRow* rows;         // see RecordBlock::rows
    std::uint32_t end_room;
    std::uint32_t row_room;
    ParseResult* result;  // initially 0
};

// 0x80 in each byte of `word` that equals `byte`, 0 in the others.
__device__ __forceinline__ std::uint32_t equal_bytes(std::uint32_t word, std::uint32_t byte) {
    const std::uint32_t differs = word ^ byte * 0x01010101U;
    // The highest bit of each byte becomes 1 if no bit of the byte differs.
    return ~(((differs & 0x7F7F7F7FU) + 0x7F7F7F7FU) | differs | 0x7F7F7F7FU);
}

// The 64 bytes of a thread.
struct ThreadBytes {
    std::uint32_t words[16];

    // A bit for each byte. A dot product moves the bits of a word's four bytes into position, and adds them to the bits
    // of the previous word: 8 bits, times 0x80.
    __device__ __forceinline__ std::uint64_t equal(std::uint8_t byte) const {
        std::uint32_t halves[2];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            std::uint32_t bits = 0;
#pragma unroll
            for (int pair = 3; pair >= 0; --pair) {
                const int i = 8 * half + 2 * pair;
                const std::uint32_t low = __dp4a(equal_bytes(words[i], byte), 0x08040201U, 0U);
                const std::uint32_t eight = __dp4a(equal_bytes(words[i + 1], byte), 0x80402010U, low);
                bits = bits << 8 | eight >> 7;
            }
            halves[half] = bits;
        }
        return std::uint64_t{halves[1]} << 32 | halves[0];
    }
};

__device__ __forceinline__ int popcount(std::uint64_t bits) {
    return __popc(static_cast<unsigned>(bits)) + __popc(static_cast<unsigned>(bits >> 32));
}

// For each bit, whether the number of bits up to it is odd.
__device__ __forceinline__ std::uint64_t prefix_xor(std::uint64_t bits) {
#pragma unroll
    for (unsigned reach = 1; reach < 64; reach *= 2) bits ^= bits << reach;
    return bits;
}

// Marks the bytes that follow a marked byte. `first` says whether the byte before the first one is marked.
__device__ __forceinline__ std::uint64_t after(std::uint64_t mask, bool first) { return mask << 1 | (first ? 1 : 0); }

// The masks of a thread. Functions such as separators() are told by `inside` whether the thread begins inside quotes.
class StepMasks {
public:
    // `previous` is the byte before, unless `is_first` says that there is none. Bytes at `valid` and beyond are
    // ignored.
    __device__ __forceinline__ StepMasks(const ThreadBytes& bytes, const ParseMarkup& markup, std::uint8_t previous,
                                         bool is_first, std::uint32_t valid)
        : any_terminator_(markup.any_terminator), is_return_odd_(markup.terminator == '\r') {
        valid_ = valid >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << valid) - 1;
        const std::uint64_t terminator = bytes.equal(markup.terminator) & valid_;
        const std::uint64_t other = bytes.equal(markup.other_line_end) & valid_;
        const std::uint64_t delimiters = bytes.equal(markup.delimiter) & valid_;
        quotes_ = markup.has_quote ? bytes.equal(markup.quote) & valid_ : 0;
        const bool after_other = !is_first && previous == markup.other_line_end;
        const bool after_terminator = is_first || previous == markup.terminator || (any_terminator_ && after_other);
        after_quote_ = !is_first && markup.has_quote && previous == markup.quote;
        after_other_ = after_other && !any_terminator_;
        pair_ends_ = any_terminator_ ? terminator & after(other, after_other) : 0;
        terminators_ = any_terminator_ ? terminator | other : terminator;
        others_ = any_terminator_ ? 0 : other;
        walls_ = delimiters | terminators_;
        starts_ = after(terminators_, after_terminator) & ~pair_ends_ & valid_;
        inside_ = prefix_xor(quotes_);
        const bool after_wall = after_terminator || (!is_first && previous == markup.delimiter);
        unexplained_ = quotes_ & ~after(walls_ | quotes_, after_wall || after_quote_);
    }

    __device__ __forceinline__ bool flips() const { return (inside_ >> 63) != 0; }

    __device__ __forceinline__ std::uint64_t separators(bool inside) const {
        return walls_ & ~inside_mask(inside) & ~pair_ends_;
    }
    __device__ __forceinline__ std::uint64_t starts(bool inside) const {
        return starts_ & ~(inside_mask(inside) ^ quotes_);
    }
    // Whether a byte of the thread is odd. With `is_last` the page ends with this thread.
    __device__ __forceinline__ bool is_odd(bool inside, bool is_last) const {
        const std::uint64_t mask = inside_mask(inside);
        const std::uint64_t others = others_ & ~mask;
        std::uint64_t odd = unexplained_ & ~(mask ^ quotes_);
        odd |= after(quotes_ & ~mask, after_quote_ && !inside) & ~(walls_ | quotes_ | others);
        odd |= is_return_odd_ ? others : after(others, after_other_ && !inside) & ~terminators_;
        if ((odd & valid_) != 0) return true;
        if (!is_last) return false;
        const std::uint64_t last = valid_ ^ valid_ >> 1;
        return (mask & last) != 0 || (others & last) != 0;  // an open quote or a CR without an LF
    }
    // Whether the last byte ends a record. For the last thread of a page.
    __device__ __forceinline__ bool ends_record(bool inside) const {
        const std::uint64_t last = valid_ ^ valid_ >> 1;
        return (terminators_ & ~inside_mask(inside) & last) != 0;
    }

private:
    __device__ __forceinline__ std::uint64_t inside_mask(bool inside) const { return inside ? ~inside_ : inside_; }

    bool any_terminator_;
    bool is_return_odd_;
    bool after_quote_;
    bool after_other_;
    std::uint64_t valid_;
    std::uint64_t quotes_;
    std::uint64_t pair_ends_;
    std::uint64_t terminators_;
    std::uint64_t others_;
    std::uint64_t walls_;
    std::uint64_t starts_;
    std::uint64_t inside_;  // inside quotes right after the byte, if the thread begins outside
    std::uint64_t unexplained_;
};

// Packs the numbers of fields and records of a tile, or part of one, each at most kTileSize: fields go into the upper
// half.
__device__ __forceinline__ std::uint32_t local_counts(int fields, int records) {
    return static_cast<std::uint32_t>(fields) << 16 | static_cast<std::uint32_t>(records);
}
static_assert(kTileSize < 65536);
__device__ __forceinline__ std::uint64_t counts_of_local(std::uint32_t counts) {
    return counts_of(counts >> 16, counts & 0xFFFF);
}

// Holds the positions of a tile on their way to global memory.
struct ParseShared {
    static constexpr std::uint32_t kEndRoom = 6144;
    static constexpr std::uint32_t kRowRoom = 1536;
    static constexpr int kWarps = kParseThreads / 32;

    std::uint32_t tile;
    unsigned warp_flips[kWarps];           // whether the warp has an odd number of quotes
    std::uint32_t warp_counts[2][kWarps];  // local_counts() if the tile begins outside quotes, and if it begins inside
    TileStart start;
    std::uint16_t ends[kEndRoom];  // positions in the tile
    std::uint32_t rows[kRowRoom];  // start, and number of ends before it, in the tile
};

// Calls put_row(number, bit, end) for each bit of `starts`, and put_end(number, bit) for each bit of `separators`.
// Numbers continue from `earlier`, which is a local_counts(); `end` is the number of the next end.
template <class PutRow, class PutEnd>
__device__ __forceinline__ void for_places(std::uint64_t separators, std::uint64_t starts, std::uint32_t earlier,
                                           const PutRow& put_row, const PutEnd& put_end) {
    std::uint32_t end_at = earlier >> 16;
    std::uint32_t row_at = earlier & 0xFFFF;
    for (std::uint64_t left = starts; left != 0; left &= left - 1) {
        const std::uint64_t below = (left & (~left + 1)) - 1;
        const auto ends_below = static_cast<std::uint32_t>(popcount(separators & below));
        put_row(row_at++, static_cast<std::uint32_t>(popcount(below)), end_at + ends_below);
    }
    for (std::uint64_t left = separators; left != 0; left &= left - 1) {
        put_end(end_at++, static_cast<std::uint32_t>(popcount((left & (~left + 1)) - 1)));
    }
}

// One block per tile.
__global__ void __launch_bounds__(kParseThreads, 5) parse_kernel(const __grid_constant__ ParseJob job) {
    ParseShared& shared = *reinterpret_cast<ParseShared*>(block_memory());
    const unsigned thread = threadIdx.x;
    const unsigned lane = thread % 32;
    const unsigned warp = thread / 32;
    if (thread == 0) shared.tile = atomicAdd(job.ticket, 1U);
    __syncthreads();
    const std::uint32_t tile = shared.tile;
    const std::uint32_t tile_at = tile * kTileSize;
    const std::uint32_t at = tile_at + thread * kStepBytes;
    const std::uint32_t valid = at >= job.size ? 0 : job.size - at < kStepBytes ? job.size - at : kStepBytes;

    ThreadBytes bytes{};
    if (valid > 0) {
        const auto* const from = reinterpret_cast<const uint4*>(job.bytes + at);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const uint4 part = __ldg(from + i);
            bytes.words[4 * i] = part.x;
            bytes.words[4 * i + 1] = part.y;
            bytes.words[4 * i + 2] = part.z;
            bytes.words[4 * i + 3] = part.w;
        }
    }
    std::uint32_t previous = __shfl_up_sync(~0U, bytes.words[15] >> 24, 1);
    if (lane == 0 && at > 0 && valid > 0) previous = __ldg(job.bytes + at - 1);
    const StepMasks masks(bytes, job.markup, static_cast<std::uint8_t>(previous), at == 0, valid);

    // Measure: how the thread begins if the tile begins outside quotes.
    const unsigned flips = __ballot_sync(~0U, masks.flips());
    bool begins_inside = (__popc(flips & ((1U << lane) - 1)) & 1) != 0;
    if (lane == 0) shared.warp_flips[warp] = static_cast<unsigned>(__popc(flips)) & 1;
    __syncthreads();
    bool tile_flips = false;
    for (unsigned w = 0; w < ParseShared::kWarps; ++w) {
        if (w == warp) begins_inside = begins_inside != tile_flips;
        tile_flips = tile_flips != (shared.warp_flips[w] != 0);
    }
    std::uint32_t before[2];  // local_counts() of the part of the tile before the thread
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const bool inside = begins_inside != (h != 0);
        const std::uint32_t own = local_counts(popcount(masks.separators(inside)), popcount(masks.starts(inside)));
        std::uint32_t sum = own;
#pragma unroll
        for (unsigned distance = 1; distance < 32; distance *= 2) {
            const std::uint32_t other = __shfl_up_sync(~0U, sum, distance);
            if (lane >= distance) sum += other;
        }
        before[h] = sum - own;
        if (lane == 31) shared.warp_counts[h][warp] = sum;
    }
    __syncthreads();
    std::uint32_t all[2] = {0, 0};
#pragma unroll
    for (unsigned w = 0; w < ParseShared::kWarps; ++w) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            if (w == warp) before[h] += all[h];
            all[h] += shared.warp_counts[h][w];
        }
    }

    const TileFunction function{tile_flips, {counts_of_local(all[0]), counts_of_local(all[1])}};
    if (thread == 0) publish(job.states, tile, function);

    // Most tiles begin outside quotes. The output for that case is gathered before it is known whether this tile does.
    // Meanwhile earlier tiles have time to publish.
    const auto gather = [&](int h) {
        const bool inside = begins_inside != (h != 0);
        const bool gathers_ends = (all[h] >> 16) <= ParseShared::kEndRoom;
        const bool gathers_rows = (all[h] & 0xFFFF) <= ParseShared::kRowRoom;
        for_places(
            masks.separators(inside), masks.starts(inside), before[h],
            [&](std::uint32_t number, std::uint32_t bit, std::uint32_t first) {
                if (gathers_rows) shared.rows[number] = (thread * kStepBytes + bit) << 16 | first;
            },
            [&](std::uint32_t number, std::uint32_t bit) {
                if (gathers_ends) shared.ends[number] = static_cast<std::uint16_t>(thread * kStepBytes + bit);
            });
    };
    gather(0);

    // Scan.
    if (warp == 0) {
        const TileStart found = look_back(job.states, tile, function);
        if (lane == 0) shared.start = found;
    }
    __syncthreads();
    const TileStart start = shared.start;
    if (start.inside) {
        gather(1);
        __syncthreads();
    }

    // Write.
    const bool inside = begins_inside != start.inside;
    const std::uint32_t total = start.inside ? all[1] : all[0];
    const std::uint32_t end_count = total >> 16;
    const std::uint32_t row_count = total & 0xFFFF;
    const auto end_base = static_cast<std::uint32_t>(start.counts >> 32);
    const auto row_base = static_cast<std::uint32_t>(start.counts);
    const bool is_last = valid > 0 && at + valid == job.size;
    if (valid > 0 && masks.is_odd(inside, is_last)) atomicOr(&job.result->odd, 1U);
    const bool gathers_ends = end_count <= ParseShared::kEndRoom;
    const bool gathers_rows = row_count <= ParseShared::kRowRoom;
    if (!gathers_ends || !gathers_rows) {
        for_places(
            masks.separators(inside), masks.starts(inside), start.inside ? before[1] : before[0],
            [&](std::uint32_t number, std::uint32_t bit, std::uint32_t first) {
                if (gathers_rows || row_base + number >= job.row_room) return;
                job.rows[row_base + number] = {at + bit, end_base + first};
            },
            [&](std::uint32_t number, std::uint32_t bit) {
                if (gathers_ends || end_base + number >= job.end_room) return;
                job.ends[end_base + number] = at + bit;
            });
    }
    if (is_last) {
        // The row after the last record. A last record without a terminator ends with the page.
        const std::uint32_t more = masks.ends_record(inside) ? 0 : 1;
        const std::uint32_t ends = end_base + end_count + more;
        const std::uint32_t rows = row_base + row_count;
        if (more != 0 && ends <= job.end_room) job.ends[ends - 1] = job.size;
        if (rows < job.row_room) job.rows[rows] = {job.size, ends};
        job.result->ends = ends;
        job.result->rows = rows + 1;
    }
    if (gathers_ends) {
        for (std::uint32_t i = thread; i < end_count && end_base + i < job.end_room; i += kParseThreads) {
            job.ends[end_base + i] = tile_at + shared.ends[i];
        }
    }
    if (gathers_rows) {
        for (std::uint32_t i = thread; i < row_count && row_base + i < job.row_room; i += kParseThreads) {
            const std::uint32_t row = shared.rows[i];
            job.rows[row_base + i] = {tile_at + (row >> 16), end_base + (row & 0xFFFF)};
        }
    }
}

}  // namespace cleave::cuda
