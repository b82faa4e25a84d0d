// Bytes kept for later: in memory while they are few, in an unlinked temporary file beyond that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "io/fd.h"

namespace cleave {

class SpillBuffer {
public:
    static constexpr std::size_t kMaxInMemory = std::size_t{1} << 20;

    bool empty() const { return size() == 0; }
    std::uint64_t size() const { return spilled_ + memory_.size(); }

    // Throws std::system_error.
    void append(std::span<const std::uint8_t> bytes);

    // Calls `take` with all the bytes, in order, in one or more parts. Throws std::system_error.
    void for_each_part(const std::function<void(std::span<const std::uint8_t>)>& take) const;

    void clear();

private:
    Fd file_;  // holds the first `spilled_` bytes
    std::uint64_t spilled_ = 0;
    std::vector<std::uint8_t> memory_;  // the rest
};

}  // namespace cleave
