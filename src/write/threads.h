// How many threads to use for the pieces of a plan.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "cleave/plan.h"
#include "io/fd.h"

namespace cleave {

// At most `threads`, at least 1; few enough for each to have `descriptors` open.
inline unsigned threads_within(unsigned threads, std::uint64_t descriptors) {
    constexpr std::uint64_t kOtherDescriptors = 15;  // are enough for everything else
    const std::uint64_t limit = std::max(descriptor_limit(), kOtherDescriptors + descriptors) - kOtherDescriptors;
    return static_cast<unsigned>(std::min<std::uint64_t>(threads, limit / descriptors));
}

// Making small pieces is mostly work on their directory, which the system lets one thread do at a time: more threads
// only wait for each other. Two threads took 1.5 times as long as one for pieces of 10 KB, and 0.8 times as long for
// 100 KB (tmpfs, Zen 3, 2026-11).
inline unsigned threads_for(std::span<const Piece> pieces, unsigned threads) {
    constexpr std::uint64_t kLeastMeanSize = std::uint64_t{64} << 10;
    if (pieces.empty()) return 1;
    std::uint64_t size = 0;
    for (const Piece& piece : pieces) size += piece.length;
    return size / pieces.size() < kLeastMeanSize ? 1 : threads_within(threads, 1);
}

}  // namespace cleave
