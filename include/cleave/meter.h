// The progress of a long operation, for other threads to read.
#pragma once

#include <atomic>
#include <cstdint>

namespace cleave {

// Numbers only grow, but for reset(). Any thread of the operation writes them, without memory ordering.
struct Meter {
    std::atomic<std::uint64_t> scanned{0};  // bytes of the file, before decompression
    std::atomic<std::uint64_t> written{0};  // bytes of the pieces, before compression
    std::atomic<std::uint64_t> pieces{0};   // finished pieces

    // Before an operation begins: all numbers are 0 again.
    void reset() noexcept { scanned = written = pieces = 0; }
};

}  // namespace cleave
