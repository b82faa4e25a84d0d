// Numbers in bytes, the lowest byte first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cleave {

// At most 8 bytes.
inline std::uint64_t number_in(std::span<const std::uint8_t> bytes) noexcept {
    std::uint64_t number = 0;
    for (std::size_t i = bytes.size(); i > 0; --i) number = number << 8 | bytes[i - 1];
    return number;
}

}  // namespace cleave
