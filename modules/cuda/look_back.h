// Finds the sum of all tiles before a tile while these tiles are still being processed.
//
// Each tile has a word, initially 0. A tile first publishes the sum of its own rows there, and later the sum of all
// rows up to its end. To find where a tile begins, a warp reads the words of the 128 tiles before it, adds up the sums
// from the nearest tile back to the first that has its whole sum, and goes 128 tiles further back if none has. A word
// holds its kind and its value together, so one load sees both and no fence is needed. Tiles are handed out in order,
// so a tile waits only for tiles that are already running.
//
//   kind  2 bits   0 nothing yet, 1 the sum of the tile, 2 the sum up to the end of the tile
//   value 62 bits
//
// Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back", NVIDIA NVR-2016-002.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda_primitives.h"

namespace cleave::cuda {

using TileState = std::uint64_t;

constexpr TileState kStateValue = (TileState{1} << 62) - 1;
constexpr TileState kOwnSum = TileState{1} << 62;
constexpr TileState kWholeSum = TileState{2} << 62;

// Returns the sum over the warp; all its lanes get it.
__device__ __forceinline__ std::uint64_t warp_sum(std::uint64_t value) {
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(~0U, value, distance);
    return value;
}

// Publishes the tile's `total` and returns the sum of all tiles before it. All lanes of one warp must call this.
__device__ __forceinline__ std::uint64_t look_back(TileState* states, std::int32_t tile, std::uint64_t total) {
    constexpr int kEach = 4;  // words per lane
    const int lane = static_cast<int>(threadIdx.x % 32);
    if (tile == 0) {
        if (lane == 0) store_relaxed(states, kWholeSum | total);
        return 0;
    }
    if (lane == 0) store_relaxed(states + tile, kOwnSum | total);
    std::uint64_t sum = 0;  // the sum of the lane
    unsigned whole = 0;
    for (std::int32_t nearest = tile - 1; whole == 0; nearest -= 32 * kEach) {
        TileState state[kEach];
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            const std::int32_t mine = nearest - 32 * i - lane;
            state[i] = mine >= 0 ? load_relaxed(states + mine) : kWholeSum;  // before the first tile there are no rows
        }
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            if (whole != 0) continue;
            const std::int32_t mine = nearest - 32 * i - lane;
            unsigned wanted = ~0U;
            while (true) {
                whole = __ballot_sync(~0U, state[i] >= kWholeSum);
                // The nearest tile that has its whole sum, and the tiles after it.
                wanted = whole != 0 ? whole ^ (whole - 1) : ~0U;
                if ((__ballot_sync(~0U, state[i] != 0) & wanted) == wanted) break;
                pause_briefly();
                if (mine >= 0) state[i] = load_relaxed(states + mine);
            }
            if ((wanted >> lane & 1) != 0) sum += state[i] & kStateValue;
        }
    }
    sum = warp_sum(sum);
    if (lane == 0) store_relaxed(states + tile, kWholeSum | (sum + total));
    return sum;
}

}  // namespace cleave::cuda
