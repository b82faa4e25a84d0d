// Characters in free text, as the searches of this folder see them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "features/redact/stage/decimal.h"

namespace cleave {

constexpr bool is_letter(std::uint8_t byte) { return static_cast<std::uint8_t>((byte | 0x20) - 'a') < 26; }
constexpr bool is_letter_or_digit(std::uint8_t byte) { return is_letter(byte) || is_digit(byte); }
constexpr bool is_hex_digit(std::uint8_t byte) { return is_digit(byte) || (is_letter(byte) && (byte | 0x20) <= 'f'); }
constexpr bool is_word(char sign) { return is_letter_or_digit(static_cast<std::uint8_t>(sign)); }
constexpr bool is_hex(char sign) { return is_hex_digit(static_cast<std::uint8_t>(sign)); }
constexpr bool is_beyond_ascii(std::uint8_t byte) { return byte >= 0x80; }

// The size in bytes of the blank at `at`, or 0 if there is none: a space or, in UTF-8, U+00A0 or U+202F.
inline std::size_t blank_size(const std::uint8_t* at, const std::uint8_t* end) {
    const auto size = static_cast<std::size_t>(end - at);
    if (size >= 1 && *at == ' ') return 1;
    if (size >= 2 && at[0] == 0xC2 && at[1] == 0xA0) return 2;
    return size >= 3 && at[0] == 0xE2 && at[1] == 0x80 && at[2] == 0xAF ? 3 : 0;
}

// The size in bytes of the separator at `at`, or 0 if there is none: a space, tab, dot, slash or hyphen, or in UTF-8
// U+00A0, U+00AD, U+202F, U+2010 to U+2015 or U+2212.
inline std::size_t separator_size(const std::uint8_t* at, const std::uint8_t* end) {
    const auto size = static_cast<std::size_t>(end - at);
    if (size == 0) return 0;
    if (*at == ' ' || *at == '\t' || *at == '.' || *at == '/' || *at == '-') return 1;
    if (size >= 2 && at[0] == 0xC2 && (at[1] == 0xA0 || at[1] == 0xAD)) return 2;
    if (size < 3 || at[0] != 0xE2) return 0;
    const bool is_general = at[1] == 0x80 && ((at[2] >= 0x90 && at[2] <= 0x95) || at[2] == 0xAF);
    return is_general || (at[1] == 0x88 && at[2] == 0x92) ? 3 : 0;
}

}  // namespace cleave
