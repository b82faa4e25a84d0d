// The ceiling for every scan: a loop that only takes the exclusive or of all bytes, with the same blocks and threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/parallel.h"
#include "cleave/scan.h"

namespace cleave {

// Reads four streams through a block, side by side. No reader can do less.
inline std::uint64_t xor_of(std::span<const std::uint8_t> bytes) {
    using Wide [[gnu::vector_size(32)]] = std::uint64_t;
    constexpr std::size_t kStreams = 4;
    Wide sums[kStreams] = {};
    const std::size_t stream = bytes.size() / kStreams / sizeof(Wide) * sizeof(Wide);
    for (std::size_t i = 0; i < stream; i += sizeof(Wide)) {
        for (std::size_t s = 0; s < kStreams; ++s) {
            Wide part;
            std::memcpy(&part, bytes.data() + s * stream + i, sizeof part);
            sums[s] ^= part;
        }
    }
    const Wide sum = sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
    return sum[0] ^ sum[1] ^ sum[2] ^ sum[3];
}

// Reads all bytes once, in the same blocks as a scan, which are handed out in the same way. Up to 127 bytes at the end
// of each block are left out.
inline std::uint64_t xor_of(std::span<const std::uint8_t> bytes, unsigned threads) {
    const std::size_t block = Execution().block_size;
    std::atomic<std::uint64_t> sum{0};
    parallel_for((bytes.size() + block - 1) / block, threads, [&](std::size_t i) {
        sum ^= xor_of(bytes.subspan(i * block, std::min(block, bytes.size() - i * block)));
    });
    return sum.load();
}

}  // namespace cleave
