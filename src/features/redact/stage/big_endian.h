// Numbers in the messages that MACs are computed of: eight bytes, the most significant first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "features/redact/stage/value.h"

namespace cleave {

class BigEndian {
public:
    explicit BigEndian(std::uint64_t number) {
        for (std::size_t i = bytes_.size(); i-- > 0; number >>= 8) bytes_[i] = static_cast<std::uint8_t>(number);
    }
    // Valid for as long as the object.
    Value value() const { return {bytes_.data(), bytes_.size()}; }

private:
    std::array<std::uint8_t, 8> bytes_{};
};

// The number in the first eight bytes.
inline std::uint64_t big_endian_number(const std::uint8_t* bytes) {
    std::uint64_t number = 0;
    for (unsigned i = 0; i < 8; ++i) number = number << 8 | bytes[i];
    return number;
}

// A number below `count`, from a number that is uniform in 64 bits: floor(number * count / 2^64). No outcome is more
// than count / 2^64 more likely than another.
inline std::uint64_t scaled_down(std::uint64_t number, std::uint64_t count) {
    const std::uint64_t low = number & UINT32_MAX;
    const std::uint64_t high = number >> 32;
    const std::uint64_t count_low = count & UINT32_MAX;
    const std::uint64_t count_high = count >> 32;
    const std::uint64_t middle = high * count_low + (low * count_low >> 32);
    const std::uint64_t other = low * count_high + (middle & UINT32_MAX);
    return high * count_high + (middle >> 32) + (other >> 32);
}

}  // namespace cleave
