// Recognises UTF-8 according to table 3-7 of the Unicode standard: no overlong forms, no surrogates, nothing above
// U+10FFFF. Also compiles for a GPU.
#pragma once

#include <cstdint>

#include "base/device.h"

namespace cleave {

CLEAVE_DEVICE constexpr bool is_utf8_continuation(std::uint8_t byte) { return (byte & 0xC0) == 0x80; }

// The size in bytes, 1 to 4, of the sequence that begins at `at`; 0 if no valid sequence begins there. `at` must be
// before `end`.
CLEAVE_DEVICE constexpr std::uint64_t utf8_size(const std::uint8_t* at, const std::uint8_t* end) {
    const std::uint8_t lead = at[0];
    if (lead < 0x80) return 1;
    if (lead < 0xC2 || lead > 0xF4) return 0;
    const std::uint64_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (end - at < static_cast<std::int64_t>(size)) return 0;
    // After four of the lead bytes the range of the second byte is narrower, which excludes overlong forms, surrogates
    // and values above U+10FFFF.
    const std::uint8_t lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const std::uint8_t highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (at[1] < lowest || at[1] > highest) return 0;
    for (std::uint64_t i = 2; i < size; ++i) {
        if (!is_utf8_continuation(at[i])) return 0;
    }
    return size;
}

}  // namespace cleave
