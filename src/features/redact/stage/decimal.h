// Counts and writes the decimal digits of numbers of up to 64 bits. Compiles for a GPU too.
#pragma once

#include <cstdint>

#include "features/redact/stage/value.h"

namespace cleave {

CLEAVE_DEVICE constexpr bool is_digit(std::uint8_t byte) { return static_cast<std::uint8_t>(byte - '0') < 10; }

// Returns 1 for 0.
CLEAVE_DEVICE constexpr std::uint64_t digit_count(std::uint64_t number) {
    std::uint64_t count = 1;
    for (; number >= 10; number /= 10) ++count;
    return count;
}

// Writes the last `count` digits of the number, with leading zeros if it has fewer. Returns `count`.
CLEAVE_DEVICE inline std::uint64_t write_digits(std::uint64_t number, std::uint64_t count, std::uint8_t* out) {
    for (std::uint64_t i = count; i-- > 0; number /= 10) out[i] = static_cast<std::uint8_t>('0' + number % 10);
    return count;
}

}  // namespace cleave
