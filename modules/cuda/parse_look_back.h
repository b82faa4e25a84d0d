// Finds out how a tile of a page begins: whether inside quotes, and after how many fields and records.
//
// A tile is a function of whether it begins inside quotes: does it end in the opposite state, and how many fields end
// and records start in it, in either case. Functions of adjacent tiles compose into one of the same kind, and
// composition is associative (doc/internals/design.md, "Two hypotheses"). So the look-back of look_back.h works on
// functions instead of sums: a warp reads the words of the 128 tiles before it, composes the functions back to the
// nearest tile whose end is known, and goes 128 tiles further back if there is none. The number of tiles that it reads
// at once determines how fast knowledge spreads: by that many tiles in the time that one read takes. With 32 tiles,
// this alone determined how long the kernel took.
//
// The word that a tile publishes contains both its kind and its value:
//
//   bits 62-63  0 nothing yet, 1 the function of the tile, 2 the state at the end of the tile
//   kind 1      bit 61: ends in the opposite state; bits 45-59, 30-44: fields if it begins outside, inside; bits 15-29,
//               0-14: records likewise
//   kind 2      bit 61: ends inside quotes; bits 30-59: fields up to its end; bits 0-29: records
//
// Therefore a page must be smaller than 2^30 bytes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda_primitives.h"

namespace cleave::cuda {

// Packs the numbers of fields and records into the halves of a word: fields go into the upper half.
__host__ __device__ __forceinline__ std::uint64_t counts_of(std::uint64_t fields, std::uint64_t records) {
    return fields << 32 | records;
}

// A tile, or several adjacent tiles, as a function of whether it begins inside quotes.
struct TileFunction {
    bool flips;
    std::uint64_t counts[2];  // counts_of() if it begins outside and inside quotes
};

struct TileStart {
    bool inside;
    std::uint64_t counts;  // before the tile
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

// Adjacent tiles that end right before the tile that looks back, and how they begin once that is known.
struct TilesBefore {
    TileFunction function{false, {0, 0}};
    TileStart start{false, 0};
    bool is_known = false;  // whether `start` is the start of the tile that looks back
};

// Prepends the next 32 tiles to `before`. The lane has the word of the tile that is `lane` tiles further back, and
// rereads it from `address` while it has to wait. Tiles before the first one have the word kTileEnd and no address.
__device__ __forceinline__ void look_further(TilesBefore& before, std::uint64_t word, const std::uint64_t* address) {
    const unsigned lane = threadIdx.x % 32;
    unsigned ended = 0;
    unsigned wanted = ~0U;  // lanes up to the nearest tile whose end is known
    while (true) {
        ended = __ballot_sync(~0U, word >= kTileEnd);
        wanted = ended != 0 ? ended ^ (ended - 1) : ~0U;
        if ((__ballot_sync(~0U, word != 0) & wanted) == wanted) break;
        if (address != nullptr) word = load_relaxed(address);
    }
    const bool counts = (wanted >> lane & 1) != 0 && word < kTileEnd;
    const unsigned flips = __ballot_sync(~0U, counts && (word & kTileFlag) != 0);
    // Whether this lane's tile begins in a different state from the earliest of the tiles.
    const bool differs = lane < 31 && (__popc(flips >> (lane + 1)) & 1) != 0;
    std::uint64_t sums[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const bool begins_inside = (h != 0) != differs;
        const auto fields = static_cast<std::uint32_t>(word >> (begins_inside ? 30 : 45) & 0x7FFF);
        const auto records = static_cast<std::uint32_t>(word >> (begins_inside ? 0 : 15) & 0x7FFF);
        sums[h] = counts_of(sum_of_warp(counts ? fields : 0), sum_of_warp(counts ? records : 0));
    }
    const bool all_flip = (__popc(flips) & 1) != 0;
    const TileFunction nearer = before.function;
    before.function.flips = nearer.flips != all_flip;
    before.function.counts[0] = sums[0] + (all_flip ? nearer.counts[1] : nearer.counts[0]);
    before.function.counts[1] = sums[1] + (all_flip ? nearer.counts[0] : nearer.counts[1]);
    if (ended == 0) return;
    const std::uint64_t end = __shfl_sync(~0U, word, __ffs(ended) - 1);
    const bool inside = (end & kTileFlag) != 0;
    const std::uint64_t more = inside ? before.function.counts[1] : before.function.counts[0];
    before.start = {inside != before.function.flips, counts_of(end >> 30 & 0x3FFFFFFF, end & 0x3FFFFFFF) + more};
    before.is_known = true;
}

// Publishes the tile, so that later tiles need not wait for look_back(). Called by one thread.
__device__ __forceinline__ void publish(std::uint64_t* states, std::uint32_t tile, const TileFunction& function) {
    store_relaxed(states + tile, tile > 0 ? word_of(function) : word_of_end(function.flips, function.counts[0]));
}

// Returns how the tile begins; all lanes of the calling warp get the result. The tile must have been published.
__device__ __forceinline__ TileStart look_back(std::uint64_t* states, std::uint32_t tile,
                                               const TileFunction& function) {
    constexpr int kEach = 4;  // words per lane
    const unsigned lane = threadIdx.x % 32;
    if (tile == 0) return {false, 0};
    TilesBefore before;
    for (std::int64_t nearest = std::int64_t{tile} - 1 - lane; !before.is_known; nearest -= 32 * kEach) {
        const std::uint64_t* addresses[kEach];
        std::uint64_t words[kEach];
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            addresses[i] = nearest >= 32 * i ? states + (nearest - 32 * i) : nullptr;
            words[i] = addresses[i] != nullptr ? load_relaxed(addresses[i]) : kTileEnd;
        }
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            if (!before.is_known) look_further(before, words[i], addresses[i]);
        }
    }
    const TileStart& start = before.start;
    if (lane == 0) {
        const std::uint64_t counts = start.counts + (start.inside ? function.counts[1] : function.counts[0]);
        store_relaxed(states + tile, word_of_end(start.inside != function.flips, counts));
    }
    return start;
}

}  // namespace cleave::cuda
