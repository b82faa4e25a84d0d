// Text whose control characters can be seen, so that names and data cannot control a terminal.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace cleave {

// "\xHH".
struct EscapedByte {
    explicit EscapedByte(char byte) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        const auto value = static_cast<unsigned char>(byte);
        characters = {'\\', 'x', kDigits[value >> 4], kDigits[value & 0xF]};
    }
    std::string_view text() const { return {characters.data(), characters.size()}; }

    std::array<char, 4> characters;
};

// Passes `text` to `append` in parts, with its control characters as \xHH. Throws only what `append` throws.
template <class Append>
void append_printable(std::string_view text, const Append& append) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
        constexpr unsigned char kDelete = 0x7F;
        // The C1 control characters, U+0080 to U+009F, in UTF-8.
        const bool is_wide_control = byte == 0xC2 && next >= 0x80 && next < 0xA0;
        if (byte < ' ' || byte == kDelete || is_wide_control) {
            append(EscapedByte(text[i]).text());
        } else {
            append(text.substr(i, 1));
        }
        if (is_wide_control) append(EscapedByte(text[++i]).text());
    }
}

inline std::string printable(std::string_view text) {
    std::string out;
    append_printable(text, [&](std::string_view part) { out += part; });
    return out;
}

}  // namespace cleave
