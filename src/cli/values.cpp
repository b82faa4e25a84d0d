#include "cli/values.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string_view>

namespace cleave::cli {
namespace {

// The digits at the start of `text`, which are taken from it.
std::uint64_t take_digits(const char* option, std::string_view& text, const std::string& whole) {
    std::uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc::result_out_of_range)
        throw UsageError(fmt::format("--{}: '{}' is too large", option, whole));
    if (error != std::errc()) throw UsageError(fmt::format("--{}: '{}' is not a number", option, whole));
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    return number;
}

}  // namespace

std::uint64_t parse_count(const char* option, const std::string& text, std::uint64_t least) {
    std::string_view rest = text;
    const std::uint64_t number = take_digits(option, rest, text);
    if (!rest.empty()) throw UsageError(fmt::format("--{}: '{}' is not a number", option, text));
    if (number < least) throw UsageError(fmt::format("--{}: at least {}", option, least));
    return number;
}

std::uint64_t parse_size(const char* option, const std::string& text) {
    std::string_view suffix = text;
    std::uint64_t size = take_digits(option, suffix, text);
    if (!suffix.empty()) {
        constexpr std::string_view kPrefixes = "KMGTPE";
        const std::size_t power = kPrefixes.find(suffix.front() == 'k' ? 'K' : suffix.front());
        const std::string_view unit = suffix.substr(1);
        if (power == std::string_view::npos || (!unit.empty() && unit != "B" && unit != "iB")) {
            throw UsageError(fmt::format("--{}: '{}' has no suffix that is known (K, M, G, KB, KiB...)", option, text));
        }
        const std::uint64_t base = unit == "B" ? 1000 : 1024;
        for (std::size_t i = 0; i <= power; ++i) {
            if (__builtin_mul_overflow(size, base, &size))
                throw UsageError(fmt::format("--{}: '{}' is too large", option, text));
        }
    }
    if (size == 0) throw UsageError(fmt::format("--{}: at least 1 byte", option));
    return size;
}

Share parse_share(const char* option, const std::string& text) {
    const std::size_t slash = text.find('/');
    if (slash == std::string::npos) throw UsageError(fmt::format("--{}: '{}' is not K/N", option, text));
    const Share share{parse_count(option, text.substr(0, slash), 1), parse_count(option, text.substr(slash + 1), 1)};
    if (share.number > share.count) throw UsageError(fmt::format("--{}: there is no piece {}", option, text));
    return share;
}

std::uint8_t parse_byte(const char* option, const std::string& text) {
    struct Row {
        std::string_view text;
        char byte;
    };
    static constexpr std::array<Row, 4> kNames = {{{"\\t", '\t'}, {"tab", '\t'}, {"\\0", '\0'}, {"\\\\", '\\'}}};
    if (text.size() == 1) return static_cast<std::uint8_t>(text[0]);
    for (const Row& row : kNames) {
        if (text == row.text) return static_cast<std::uint8_t>(row.byte);
    }
    constexpr std::size_t kHexSize = 4;  // \xHH
    if (text.size() == kHexSize && text.starts_with("\\x")) {
        std::uint8_t byte = 0;
        const char* end = text.data() + text.size();
        if (const auto [stop, error] = std::from_chars(text.data() + 2, end, byte, 16);
            error == std::errc() && stop == end) {
            return byte;
        }
    }
    throw UsageError(fmt::format("--{}: '{}' is not one byte", option, text));
}

std::string with_commas(const std::string& names) {
    std::string text;
    for (const char c : names) text += c == ' ' ? std::string(", ") : std::string(1, c);
    return text;
}

void refuse_choice(const char* option, const std::string& text, const std::string& names) {
    throw UsageError(fmt::format("--{}: '{}' is not one of: {}", option, text, with_commas(names)));
}

}  // namespace cleave::cli
