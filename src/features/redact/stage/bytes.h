// Copies and fills short runs of bytes without a function call, because most values are short and calling memcpy costs
// more than the copy. A run of 8 to 16 bytes is copied as two 8-byte words that may overlap; other sizes work the same
// way. Compiles for a GPU too.
#pragma once

#include <cstdint>
#include <cstring>

#include "features/redact/stage/value.h"

namespace cleave {

// The runs must not overlap. Returns `size`.
CLEAVE_DEVICE inline std::uint64_t copy_bytes(std::uint8_t* out, const std::uint8_t* from, std::uint64_t size) {
    if (size > 32) {
        std::memcpy(out, from, size);
    } else if (size >= 16) {
        std::memcpy(out, from, 16);
        std::memcpy(out + size - 16, from + size - 16, 16);
    } else if (size >= 8) {
        std::memcpy(out, from, 8);
        std::memcpy(out + size - 8, from + size - 8, 8);
    } else if (size >= 4) {
        std::memcpy(out, from, 4);
        std::memcpy(out + size - 4, from + size - 4, 4);
    } else if (size > 0) {
        out[0] = from[0];
        out[size / 2] = from[size / 2];
        out[size - 1] = from[size - 1];
    }
    return size;
}

// Returns `size`.
CLEAVE_DEVICE inline std::uint64_t fill_bytes(std::uint8_t* out, std::uint8_t byte, std::uint64_t size) {
    const std::uint64_t word = 0x0101010101010101 * byte;
    if (size > 32) {
        std::memset(out, byte, size);
    } else if (size >= 8) {
        // One word at each end, and two in the middle for runs of 17 bytes or more.
        std::memcpy(out, &word, 8);
        if (size > 16) {
            std::memcpy(out + 8, &word, 8);
            std::memcpy(out + size - 16, &word, 8);
        }
        std::memcpy(out + size - 8, &word, 8);
    } else if (size >= 4) {
        std::memcpy(out, &word, 4);
        std::memcpy(out + size - 4, &word, 4);
    } else {
        for (std::uint64_t i = 0; i < size; ++i) out[i] = byte;
    }
    return size;
}

}  // namespace cleave
