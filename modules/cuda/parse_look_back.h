// What is before a tile of a page: whether it begins inside quotes, and how many fields and records come before it.
//
// A tile is a function of whether it begins inside quotes: does it end in the other state, and how many fields end and
// how many records start in it, for both cases. Functions of neighbours compose to one of the same kind, in any
// grouping (doc/design.md, "Two hypotheses"). So the look-back of look_back.h does, on functions instead of sums: a
// warp reads the words of the 32 tiles before it, composes the functions back to the nearest tile whose end is known,
// and goes 32 tiles further back if there is none.
//
// The word that a tile publishes holds its kind and its value together:
//
//   bits 62-63  0 nothing yet, 1 the function of the tile, 2 the state at its end
//   kind 1      bit 61: ends in the other state; bits 45-59, 30-44: fields if it begins outside, inside; bits 15-29,
//               0-14: records likewise
//   kind 2      bit 61: ends inside quotes; bits 30-59: fields up to its end; bits 0-29: records
//
// So a page has less than 2^30 bytes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda_primitives.h"

namespace cleave::cuda {

// Numbers of fields and records as two halves of a word: fields are the upper half.
__host__ __device__ __forceinline__ std::uint64_t counts_of(std::uint64_t fields, std::uint64_t records) {
    return fields << 32 | records;
}

// A tile, or some tiles side by side, as a function of whether it begins inside quotes.
struct TileFunction {
    bool flips;
    std::uint64_t counts[2];  // as counts_of(), if it begins outside, inside
};

struct TileStart {
    bool inside;
    std::uint64_t counts;  // before it
};

constexpr std::uint64_t kTileFunction = std::uint64_t{1} << 62;
constexpr std::uint64_t kTileEnd = std::uint64_t{2} << 62;
constexpr std::uint64_t kTileFlag = std::uint64_t{1} << 61;

__device__ __forceinline__ std::uint64_t word_of(const TileFunction& tile) {
    const auto fields = [&](int h) { return tile.counts[h] >> 32; };
    const auto records = [&](int h) { return tile.counts[h] & 0xFFFFFFFFU; };
    return kTileFunction | (tile.flips ? kTileFlag : 0) | fields(0) << 45 | fields(1) << 30 | records(0) << 15 |
           records(1);
}

__device__ __forceinline__ std::uint64_t word_of_end(bool inside, std::uint64_t counts) {
    return kTileEnd | (inside ? kTileFlag : 0) | (counts >> 32) << 30 | (counts & 0x3FFFFFFFU);
}

// What is before the tile, for all lanes of the warp that calls it. Publishes the tile.
__device__ __forceinline__ TileStart look_back(std::uint64_t* states, std::uint32_t tile,
                                               const TileFunction& function) {
    const unsigned lane = threadIdx.x % 32;
    TileStart start{false, 0};
    if (tile > 0) {
        if (lane == 0) store_relaxed(states + tile, word_of(function));
        TileFunction later{false, {0, 0}};  // of the tiles that were looked at
        for (std::int64_t nearest = std::int64_t{tile} - 1;; nearest -= 32) {
            const std::int64_t mine = nearest - lane;
            std::uint64_t word = kTileEnd;  // before the first tile
            unsigned ended = 0;
            unsigned wanted = ~0U;  // lanes up to the nearest tile whose end is known
            do {
                if (mine >= 0) word = load_relaxed(states + mine);
                ended = __ballot_sync(~0U, word >= kTileEnd);
                wanted = ended != 0 ? ended ^ (ended - 1) : ~0U;
            } while ((__ballot_sync(~0U, word != 0) & wanted) != wanted);
            const bool is_end = word >= kTileEnd;
            const bool counts = (wanted >> lane & 1) != 0 && !is_end;
            const unsigned flips = __ballot_sync(~0U, counts && (word & kTileFlag) != 0);
            // Whether my tile begins in another state than the earliest of them.
            const bool differs = lane < 31 && (__popc(flips >> (lane + 1)) & 1) != 0;
            std::uint64_t sums[2];
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const bool begins_inside = (h != 0) != differs;
                const std::uint64_t own =
                    counts_of(word >> (begins_inside ? 30 : 45) & 0x7FFF, word >> (begins_inside ? 0 : 15) & 0x7FFF);
                std::uint64_t sum = counts ? own : 0;
                for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0U, sum, distance);
                sums[h] = sum;
            }
            const bool all_flip = (__popc(flips) & 1) != 0;
            const TileFunction before = later;
            later.flips = before.flips != all_flip;
            later.counts[0] = sums[0] + before.counts[all_flip ? 1 : 0];
            later.counts[1] = sums[1] + before.counts[all_flip ? 0 : 1];
            if (ended == 0) continue;
            const std::uint64_t end = __shfl_sync(~0U, word, __ffs(ended) - 1);
            const bool inside = (end & kTileFlag) != 0;
            start.inside = inside != later.flips;
            start.counts = counts_of(end >> 30 & 0x3FFFFFFF, end & 0x3FFFFFFF) + later.counts[inside ? 1 : 0];
            break;
        }
    }
    if (lane == 0) {
        const std::uint64_t counts = start.counts + function.counts[start.inside ? 1 : 0];
        store_relaxed(states + tile, word_of_end(start.inside != function.flips, counts));
    }
    return start;
}

}  // namespace cleave::cuda
