#include "base/shell_word.h"

#include <algorithm>

#include "base/text_bytes.h"

namespace cleave {
namespace {

bool needs_no_quotes(char c) {
    const bool is_letter = to_lower(c) >= 'a' && to_lower(c) <= 'z';
    return is_letter || (c >= '0' && c <= '9') || std::string_view("/._+,:=@%-").find(c) != std::string_view::npos;
}

// Includes the second block of control characters, which begin with the byte 0xC2 in UTF-8.
bool is_control(std::string_view text, std::size_t at) {
    constexpr unsigned char kDelete = 0x7F;
    constexpr unsigned char kSecondBlock = 0xC2;
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    const auto leads = [&](std::size_t i) { return byte(i) == kSecondBlock && (byte(i + 1) & 0xE0U) == 0x80; };
    return byte(at) < ' ' || byte(at) == kDelete || leads(at) || (at > 0 && leads(at - 1));
}

}  // namespace

std::string shell_word(std::string_view text) {
    if (!text.empty() && std::ranges::all_of(text, needs_no_quotes)) return std::string(text);
    std::string word;
    bool has_control = false;
    for (std::size_t i = 0; i < text.size(); ++i) has_control |= is_control(text, i);
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (has_control && is_control(text, i)) {
            constexpr std::string_view kDigits = "0123456789abcdef";
            const auto byte = static_cast<unsigned char>(text[i]);
            word += {'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 0xFU]};
        } else if (has_control) {
            if (text[i] == '\'' || text[i] == '\\') word += '\\';
            word += text[i];
        } else {
            word += text[i] == '\'' ? std::string_view(R"('\'')") : text.substr(i, 1);
        }
    }
    return (has_control ? "$'" : "'") + word + "'";
}

}  // namespace cleave
