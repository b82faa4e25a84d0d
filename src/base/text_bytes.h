// The bytes of texts.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cleave {

// A view of the text, which must outlive it.
inline std::span<const std::uint8_t> bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

inline bool is_line_break(std::uint8_t byte) { return byte == '\n' || byte == '\r'; }

// An ASCII letter in lower case, whatever the locale.

inline char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace cleave
