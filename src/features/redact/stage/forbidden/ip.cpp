#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "features/redact/stage/forbidden/forbidden.h"
#include "features/redact/stage/forbidden/text.h"

namespace cleave {
namespace {

bool is_digit_sign(char sign) { return is_digit(static_cast<std::uint8_t>(sign)); }

// The size of the decimal number up to 255 without leading zeros that the text begins with; 0 if there is none.
std::size_t byte_size(std::string_view text) {
    int number = 0;
    std::size_t size = 0;
    for (; size < text.size() && is_digit_sign(text[size]); ++size) {
        if (size > 0 && number == 0) return 0;
        number = 10 * number + text[size] - '0';
        if (number > 255) return 0;
    }
    return size;
}

// The size of the four numbers, separated by dots, that the text begins with; 0 if there are none.
std::size_t ip_4_size(std::string_view text) {
    std::size_t end = 0;
    for (unsigned i = 0; i < 4; ++i) {
        if (i > 0) {
            if (end == text.size() || text[end] != '.') return 0;
            ++end;
        }
        const std::size_t size = byte_size(text.substr(end));
        if (size == 0) return 0;
        end += size;
    }
    return end;
}

// Whether the characters before `at`, or from `at` on, belong to what is there: a letter or a digit, or a digit behind
// a dot, as in a version with five numbers.
bool is_joined_before(std::string_view text, std::size_t at) {
    if (at == 0) return false;
    return is_word(text[at - 1]) || (at > 1 && text[at - 1] == '.' && is_digit_sign(text[at - 2]));
}
bool is_joined_after(std::string_view text, std::size_t at) {
    if (at == text.size()) return false;
    return is_word(text[at]) || (at + 1 < text.size() && text[at] == '.' && is_digit_sign(text[at + 1]));
}

bool has_ip_4(std::string_view text) {
    constexpr std::size_t kShortest = 7;  // "1.2.3.4"
    for (std::size_t dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.', dot + 1)) {
        std::size_t begin = dot;
        while (begin > 0 && is_digit_sign(text[begin - 1]) && dot - begin < 3) --begin;
        if (begin == dot || text.size() - begin < kShortest || is_joined_before(text, begin)) continue;
        const std::size_t size = ip_4_size(text.substr(begin));
        if (size > 0 && !is_joined_after(text, begin + size)) return true;
    }
    return false;
}

// Counts the hexadecimal numbers, of up to four digits each, in a list separated by colons. Returns 0 for an empty
// text, and std::nullopt if the text is not such a list.
std::optional<unsigned> count_numbers(std::string_view text) {
    unsigned count = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(':'), text.size());
        const std::string_view number = text.substr(0, end);
        if (number.empty() || number.size() > 4 || !std::ranges::all_of(number, is_hex)) return std::nullopt;
        ++count;
        if (end + 1 == text.size()) return std::nullopt;
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return count;
}

bool is_ip_6(std::string_view text) {
    constexpr unsigned kNumbers = 8;
    const std::size_t gap = text.find("::");
    if (gap == std::string_view::npos) return count_numbers(text) == kNumbers;
    const std::optional<unsigned> before = count_numbers(text.substr(0, gap));
    const std::optional<unsigned> after = count_numbers(text.substr(gap + 2));
    return before && after && *before + *after > 0 && *before + *after < kNumbers;
}

// Whether a run of hexadecimal digits and colons is an address, apart from a word and a colon before it, or a colon and
// a word after it. The run may begin or end within such a word.
bool is_run_with_ip_6(std::string_view run, bool begins_in_word, bool ends_in_word) {
    if (begins_in_word || (run.starts_with(':') && !run.starts_with("::"))) {
        run.remove_prefix(std::min(run.find(':'), run.size() - 1) + 1);
    }
    if (ends_in_word || (run.ends_with(':') && !run.ends_with("::"))) {
        run = run.substr(0, std::min(run.rfind(':'), run.size()));
    }
    if (is_ip_6(run)) return true;
    // The word may consist of hexadecimal digits, as in "ad:2001:db8::1".
    const std::size_t colon = std::min(run.find(':'), run.size());
    const std::string_view word = run.substr(0, colon);
    return colon < run.size() && !std::ranges::all_of(word, is_digit_sign) && is_ip_6(run.substr(colon + 1));
}

bool has_ip_6(std::string_view text) {
    const auto is_in_run = [](char sign) { return is_hex(sign) || sign == ':'; };
    for (std::size_t colon = text.find(':'); colon != std::string_view::npos;) {
        std::size_t begin = colon;
        while (begin > 0 && is_in_run(text[begin - 1])) --begin;
        std::size_t end = colon;
        while (end < text.size() && is_in_run(text[end])) ++end;
        const std::string_view run = text.substr(begin, end - begin);
        if (is_run_with_ip_6(run, is_joined_before(text, begin), is_joined_after(text, end))) return true;
        colon = text.find(':', end);
    }
    return false;
}

}  // namespace

bool has_ip_address(Value value) noexcept {
    const std::string_view text(reinterpret_cast<const char*>(value.data), value.size);
    return has_ip_4(text) || has_ip_6(text);
}

}  // namespace cleave
