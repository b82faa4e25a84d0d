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
// only wait for each other. So each thread must have kLeastOfThread bytes of a piece to work on. In a tmpfs, two
// threads took 1.2 times as long as one for pieces of 1 KB, 1.05 for 4 KB and 0.7 for 10 to 50 KB; on ext4 0.4 to 0.6
// for all of these (Zen 4, Linux 6.18, 2026-11). On 16 cores, in a tmpfs, 2, 4 and 16 threads took 0.71, 0.61 and 0.61
// of the time of one for pieces of 31 KB, and 0.64, 0.35 and 0.37 for 125 KB (Sapphire Rapids, 2026-11).
inline unsigned threads_for(std::span<const Piece> pieces, unsigned threads) {
    constexpr std::uint64_t kLeastOfThread = std::uint64_t{4} << 10;
    constexpr std::uint64_t kLarge = std::uint64_t{64} << 10;
    if (pieces.empty()) return 1;
    std::uint64_t size = 0;
    for (const Piece& piece : pieces) size += piece.length;
    const std::uint64_t mean = size / pieces.size();
    if (mean < kLarge) threads = static_cast<unsigned>(std::clamp<std::uint64_t>(mean / kLeastOfThread, 1, threads));
    return threads_within(threads, 1);
}

}  // namespace cleave
