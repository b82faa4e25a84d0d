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

}  // namespace cleave
