#include "base/json_scan.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/json_string.h"
#include "base/utf8.h"

namespace cleave {
namespace {

bool is_number_digit(std::uint8_t byte) { return byte >= '0' && byte <= '9'; }

const std::uint8_t* skip_digits(const std::uint8_t* at, const std::uint8_t* end) {
    return std::find_if_not(at, end, is_number_digit);
}

// Skips a string, whose first quote is at `at`.
const std::uint8_t* skip_string(const std::uint8_t* at, const std::uint8_t* end, JsonFault& fault) {
    const std::uint8_t* const begin = at;
    ++at;
    for (;;) {
        at = skip_plain_text(at, end);
        if (at == end) {
            fault = {begin, "a string is not closed"};
            return nullptr;
        }
        if (*at == '"') return at + 1;
        if (*at == '\\') {
            const std::uint8_t* const behind = skip_escape(at, end);
            if (behind == nullptr) {
                fault = {at, "a backslash begins no escape sequence"};
                return nullptr;
            }
            at = behind;
        } else if (*at < ' ') {
            fault = {at, "a string contains a control character"};
            return nullptr;
        } else {
            for (; at != end && *at >= 0x80; at += utf8_size(at, end)) {
                if (utf8_size(at, end) > 0) continue;
                fault = {at, "a string is not UTF-8"};
                return nullptr;
            }
        }
    }
}

const std::uint8_t* skip_number(const std::uint8_t* at, const std::uint8_t* end, JsonFault& fault) {
    // Skips one or more digits.
    const auto skip_part = [&](const std::uint8_t* from) {
        const std::uint8_t* const behind = skip_digits(from, end);
        if (behind != from) return behind;
        fault = {from, "a digit is missing in a number"};
        return static_cast<const std::uint8_t*>(nullptr);
    };
    if (*at == '-') ++at;
    at = at != end && *at == '0' ? at + 1 : skip_part(at);
    if (at != nullptr && at != end && *at == '.') at = skip_part(at + 1);
    if (at != nullptr && at != end && (*at == 'e' || *at == 'E')) {
        ++at;
        if (at != end && (*at == '+' || *at == '-')) ++at;
        at = skip_part(at);
    }
    return at;
}

}  // namespace

const std::uint8_t* skip_all_json_blanks(const std::uint8_t* at, const std::uint8_t* end) {
    return std::find_if_not(at, end, [](std::uint8_t c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; });
}

const std::uint8_t* skip_json_scalar(const std::uint8_t* at, const std::uint8_t* end, JsonKind& kind,
                                     JsonFault& fault) {
    struct Word {
        std::string_view text;
        JsonKind kind;
    };
    static constexpr std::array<Word, 3> kWords = {
        {{"true", JsonKind::kTrue}, {"false", JsonKind::kFalse}, {"null", JsonKind::kNull}}};
    if (*at == '"') {
        kind = JsonKind::kString;
        return skip_string(at, end, fault);
    }
    const std::string_view rest(reinterpret_cast<const char*>(at), static_cast<std::size_t>(end - at));
    if (rest.starts_with("-Infinity")) {
        fault = {at + 1, "-Infinity is not a JSON value"};
        return nullptr;
    }
    if (*at == '-' || is_number_digit(*at)) {
        kind = JsonKind::kNumber;
        return skip_number(at, end, fault);
    }
    for (const Word& word : kWords) {
        if (!rest.starts_with(word.text)) continue;
        kind = word.kind;
        return at + word.text.size();
    }
    fault = {at, rest.starts_with("NaN")        ? "NaN is not a JSON value"
                 : rest.starts_with("Infinity") ? "Infinity is not a JSON value"
                                                : "a value is missing"};
    return nullptr;
}

}  // namespace cleave
