// Recognises UTF-8 according to table 3-7 of the Unicode standard: no overlong forms, no surrogates, nothing above
// U+10FFFF. Also compiles for a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/device.h"

namespace cleave {

CLEAVE_DEVICE constexpr bool is_utf8_continuation(std::uint8_t byte) { return (byte & 0xC0) == 0x80; }

// What the first byte of a sequence of several bytes demands.
struct Utf8Lead {
    std::uint8_t size;     // of the sequence in bytes, 2 to 4; 0 if none begins with this byte
    std::uint8_t lowest;   // between which bytes the second one lies: for four lead bytes the range is narrower, which
    std::uint8_t highest;  // excludes overlong forms, surrogates and values above U+10FFFF
};

CLEAVE_DEVICE constexpr Utf8Lead utf8_lead(std::uint8_t byte) {
    const std::uint8_t size = byte < 0xC2 || byte > 0xF4 ? 0 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    const std::uint8_t lowest = byte == 0xE0 ? 0xA0 : byte == 0xF0 ? 0x90 : 0x80;
    const std::uint8_t highest = byte == 0xED ? 0x9F : byte == 0xF4 ? 0x8F : 0xBF;
    return {size, lowest, highest};
}

// The size in bytes, 1 to 4, of the sequence that begins at `at`; 0 if no valid sequence begins there. `at` must be
// before `end`.
CLEAVE_DEVICE constexpr std::uint64_t utf8_size(const std::uint8_t* at, const std::uint8_t* end) {
    if (at[0] < 0x80) return 1;
    const Utf8Lead lead = utf8_lead(at[0]);
    if (lead.size == 0 || end - at < lead.size || at[1] < lead.lowest || at[1] > lead.highest) return 0;
    for (std::uint64_t i = 2; i < lead.size; ++i) {
        if (!is_utf8_continuation(at[i])) return 0;
    }
    return lead.size;
}

constexpr bool is_utf8(std::span<const std::uint8_t> bytes) {
    const std::uint8_t* at = bytes.data();
    for (const std::uint8_t* const end = at + bytes.size(); at < end;) {
        const std::uint64_t size = utf8_size(at, end);
        if (size == 0) return false;
        at += size;
    }
    return true;
}

// Where no valid sequence begins: the size of the longest start of one that is there, at least 1.
constexpr std::uint64_t utf8_start_size(const std::uint8_t* at, const std::uint8_t* end) {
    const Utf8Lead lead = utf8_lead(at[0]);
    if (lead.size == 0 || end - at < 2 || at[1] < lead.lowest || at[1] > lead.highest) return 1;
    std::uint64_t size = 2;
    while (size < lead.size && end - at > static_cast<std::ptrdiff_t>(size) && is_utf8_continuation(at[size])) ++size;
    return size;
}

}  // namespace cleave
