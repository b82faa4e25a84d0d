// JSON strings: where they end, the text that they stand for, and how to write one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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

// Whether the string has half a surrogate pair, which stands for no character.
bool has_lone_surrogate(const std::uint8_t* at, const std::uint8_t* end);

// Whether the string stands for `text`.
bool is_json_text(const std::uint8_t* at, const std::uint8_t* end, std::string_view text);

// Writes valid UTF-8 between the quotes of a string. escaped_size() is how many bytes that takes; nothing if the text
// is not UTF-8. Only what must have an escape gets one, the shortest.
std::optional<std::uint64_t> escaped_size(std::span<const std::uint8_t> text);
void write_escaped(std::span<const std::uint8_t> text, std::uint8_t* out);

}  // namespace cleave
