// The characters of a value are its UTF-8 sequences. A byte that is not part of one counts as a character. Compiles for
// a GPU too.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/utf8.h"
#include "features/redact/stage/bytes.h"
#include "features/redact/stage/value.h"

namespace cleave {

// The size in bytes, 1 to 4, of the character at `at`, which must be before `end`.
CLEAVE_DEVICE inline std::uint64_t character_size(const std::uint8_t* at, const std::uint8_t* end) {
    const std::uint64_t size = utf8_size(at, end);
    return size > 0 ? size : 1;
}

// Whether each byte is one character, because none has its top bit set. Reads words that may overlap: two 8-byte words
// for values of 8 to 16 bytes, two 4-byte words for values of 4 to 7 bytes.
CLEAVE_DEVICE inline bool is_ascii(Value value) {
    constexpr std::uint64_t kTopBits = 0x8080808080808080;
    const std::uint8_t* const data = value.data;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    if (value.size >= 8) {
        for (std::uint64_t i = 8; i + 8 < value.size; i += 8) {
            std::memcpy(&last, data + i, 8);
            first |= last;
        }
        std::memcpy(&last, data, 8);
        first |= last;
        std::memcpy(&last, data + value.size - 8, 8);
    } else if (value.size >= 4) {
        std::memcpy(&first, data, 4);
        std::memcpy(&last, data + value.size - 4, 4);
    } else if (value.size > 0) {
        first = data[0] | data[value.size / 2];
        last = data[value.size - 1];
    }
    return ((first | last) & kTopBits) == 0;
}

CLEAVE_DEVICE inline std::uint64_t count_characters(Value value) {
    if (is_ascii(value)) return value.size;
    const std::uint8_t* const end = value.data + value.size;
    std::uint64_t count = 0;
    for (const std::uint8_t* at = value.data; at != end; at += character_size(at, end)) ++count;
    return count;
}

// Writes `sign` once per character and returns the number of characters. `out` needs as much room as the value takes.
CLEAVE_DEVICE inline std::uint64_t mask_characters(Value value, std::uint8_t sign, std::uint8_t* out) {
    return fill_bytes(out, sign, count_characters(value));
}

}  // namespace cleave
