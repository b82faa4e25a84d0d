// JSON strings: where they end, and the text that they stand for.
#pragma once

#include <cstdint>
#include <string_view>

namespace cleave {

// Returns the end of the run of bytes from `at` on that a string may contain as they are: printable ASCII without
// quotes and backslashes. Never reads past `end`.
const std::uint8_t* skip_plain_text(const std::uint8_t* at, const std::uint8_t* end);

// Returns the byte after the escape sequence whose backslash is at `at`; null if it is none.
const std::uint8_t* skip_escape(const std::uint8_t* at, const std::uint8_t* end);

// The functions below take the bytes between the quotes of a string that scan_json() has accepted.

// Writes the text to `out` and returns its size, which is at most the number of bytes. A pair of surrogates becomes one
// character. A lone one, which UTF-8 cannot express, becomes the three bytes that UTF-8 would use for its number, so
// different strings never become the same text.
std::uint64_t write_json_text(const std::uint8_t* at, const std::uint8_t* end, std::uint8_t* out);

// Whether the string stands for `text`.
bool is_json_text(const std::uint8_t* at, const std::uint8_t* end, std::string_view text);

}  // namespace cleave
