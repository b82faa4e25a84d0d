#include <algorithm>
#include <cstddef>
#include <string_view>

#include "stage/forbidden/forbidden.h"
#include "stage/forbidden/text.h"

namespace cleave {
namespace {

bool is_hex(char sign) {
    const auto byte = static_cast<std::uint8_t>(sign);
    return is_digit(byte) || (is_letter(byte) && (byte | 0x20) <= 'f');
}
bool is_of_address(char sign) { return is_hex(sign) || sign == ':' || sign == '.'; }

// Whether the text is a decimal number up to 255 without leading zeros.
bool is_byte(std::string_view text) {
    if (text.empty() || text.size() > 3 || (text[0] == '0' && text.size() > 1)) return false;
    int number = 0;
    for (const char sign : text) {
        if (!is_digit(static_cast<std::uint8_t>(sign))) return false;
        number = 10 * number + sign - '0';
    }
    return number <= 255;
}

bool is_ip_4(std::string_view text) {
    for (unsigned i = 0; i < 4; ++i) {
        const std::size_t end = std::min(text.find('.'), text.size());
        if (!is_byte(text.substr(0, end)) || (end == text.size()) != (i == 3)) return false;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return true;
}

// The number of 16-bit numbers in a list separated by colons; 0 for an empty text, 100 if it is no such list.
unsigned count_numbers(std::string_view text, bool is_last) {
    constexpr unsigned kNone = 100;
    unsigned count = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(':'), text.size());
        const std::string_view number = text.substr(0, end);
        if (is_last && end == text.size() && is_ip_4(number)) return count + 2;
        if (number.empty() || number.size() > 4 || !std::ranges::all_of(number, is_hex)) return kNone;
        ++count;
        if (end + 1 == text.size()) return kNone;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return count;
}

bool is_ip_6(std::string_view text) {
    constexpr unsigned kNumbers = 8;
    const std::size_t gap = text.find("::");
    if (gap == std::string_view::npos) return count_numbers(text, true) == kNumbers;
    const unsigned before = count_numbers(text.substr(0, gap), false);
    const unsigned after = count_numbers(text.substr(gap + 2), true);
    return before + after > 0 && before + after < kNumbers;
}

// The text is a run of characters of an address. An address can end a sentence, or have a port.
bool is_address(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (is_ip_4(text.substr(0, colon)) && text.find('.') < colon) return true;
    return is_ip_6(text);
}

bool is_word(char sign) { return is_letter_or_digit(static_cast<std::uint8_t>(sign)); }

}  // namespace

bool has_ip_address(Value value) noexcept {
    constexpr std::size_t kShortest = 3;  // "::1"
    const std::string_view text(reinterpret_cast<const char*>(value.data), value.size);
    for (std::size_t at = 0; at + kShortest <= text.size(); ++at) {
        if (!is_of_address(text[at])) continue;
        std::size_t end = at;
        while (end < text.size() && is_of_address(text[end])) ++end;
        const bool is_apart = (at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]));
        std::string_view run = text.substr(at, end - at);
        if (is_apart) {
            if (is_address(run)) return true;
            const bool ends_sentence = run.ends_with('.') || (run.ends_with(':') && !run.ends_with("::"));
            if (ends_sentence && is_address(run.substr(0, run.size() - 1))) return true;
        }
        at = end;
    }
    return false;
}

}  // namespace cleave
