// The progress of a long operation, for other threads to read.
#pragma once

#include <atomic>
#include <cstdint>

namespace cleave {

// The numbers only grow, except in reset(). Any thread of the operation may write to them, with relaxed memory
// ordering.
struct Meter {
    std::atomic<std::uint64_t> scanned{0};  // bytes of the file, before decompression
    std::atomic<std::uint64_t> written{0};  // bytes of the pieces, before compression
    std::atomic<std::uint64_t> pieces{0};   // finished pieces

    // Sets all numbers to 0, before an operation begins.
    void reset() noexcept { scanned = written = pieces = 0; }
};

}  // namespace cleave
