// How far a long operation is, for another thread to look at.
#pragma once

#include <atomic>
#include <cstdint>

namespace cleave {

// Numbers only grow. Written by any thread of the operation, in no order with anything else.
struct Meter {
    std::atomic<std::uint64_t> scanned{0};  // bytes of the file, as they lie there
    std::atomic<std::uint64_t> written{0};  // bytes of the pieces, plain
    std::atomic<std::uint64_t> pieces{0};   // that are finished
};

}  // namespace cleave
