#include "cli/values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/suggest.h"
#include "base/text_bytes.h"
#include "cli/formatted.h"
#include "cli/other_tools.h"
#include "rows/values/value_names.h"

namespace cleave::cli {
namespace {

// Removes the digits at the start of `text` and returns their value.
std::uint64_t take_digits(const std::string& option, std::string_view& text, const std::string& whole) {
    std::uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc::result_out_of_range) throw UsageError(formatted("{}: '{}' is too large", option, whole));
    if (error != std::errc()) throw UsageError(formatted("{}: '{}' is not a number", option, whole));
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    return number;
}

// Removes a decimal point and the digits after it from `text`, and returns the digits.
std::string_view take_decimals(const std::string& option, std::string_view& text, const std::string& whole) {
    if (!text.starts_with('.')) return {};
    const std::size_t end = std::min(text.find_first_not_of("0123456789", 1), text.size());
    const std::string_view digits = text.substr(1, end - 1);
    if (digits.empty()) throw UsageError(formatted("{}: '{}' is not a number", option, whole));
    text.remove_prefix(end);
    return digits;
}

// How many bytes a suffix stands for: 1 for no suffix, std::nullopt for an unknown one.
std::optional<std::uint64_t> unit_of(std::string_view suffix) {
    if (suffix.empty()) return 1;
    constexpr std::string_view kPrefixes = "kmgtpe";
    const std::size_t power = kPrefixes.find(to_lower(suffix.front()));
    std::string rest;
    for (const char c : suffix.substr(1)) rest += to_lower(c);
    if (power == std::string_view::npos || (!rest.empty() && rest != "b" && rest != "ib")) return std::nullopt;
    const std::uint64_t base = rest == "b" ? 1000 : 1024;
    std::uint64_t unit = base;
    for (std::size_t i = 0; i < power; ++i) unit *= base;  // at most 2^60
    return unit;
}

// 0.DECIMALS times `unit`, rounded down. Works from the last digit to the first, which is exact because floor((d +
// floor(x)) / 10) is floor((d + x) / 10) for an integer d. No step overflows: 10 * 2^60 is less than 2^64.
std::uint64_t share_of(std::string_view decimals, std::uint64_t unit) {
    std::uint64_t share = 0;
    for (std::size_t i = decimals.size(); i-- > 0;) {
        share = (static_cast<std::uint64_t>(decimals[i] - '0') * unit + share) / 10;
    }
    return share;
}

// A weight as it is written, without leading zeros and without zeros after the last decimal.
struct Weight {
    std::string digits;    // without the point
    std::size_t decimals;  // how many of them are after the point
};

// std::nullopt if the text is not a decimal number above 0.
std::optional<Weight> weight_of(std::string_view text) {
    const std::size_t point = std::min(text.find('.'), text.size());
    std::string digits(text.substr(0, point));
    std::string_view decimals = text.substr(std::min(point + 1, text.size()));
    if (point < text.size() && decimals.empty()) return std::nullopt;
    decimals = decimals.substr(0, decimals.find_last_not_of('0') + 1);  // npos + 1 is 0
    digits += decimals;
    if (digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
    return digits.empty() ? std::nullopt : std::optional(Weight{std::move(digits), decimals.size()});
}

// Throws UsageError for a name that would be changed to become a part of a file name.
void check_name(const std::string& option, const std::string& name) {
    const auto value = [&](std::size_t, std::size_t) -> std::string_view { return name; };
    if (value_names(1, value, {false, {"part"}}).front() == name) return;
    throw UsageError(formatted(
        "{}: '{}' cannot be a part of a file name; use letters, digits, _, - and ., and begin with a letter or digit",
        option, name));
}

// Throws UsageError if there is a part with the name, or with a name that differs only in case.
void check_is_new(const std::string& option, const std::string& name, const std::vector<Part>& parts) {
    const auto folded = [](std::string text) {
        std::ranges::transform(text, text.begin(), to_lower);
        return text;
    };
    for (const Part& other : parts) {
        if (other.name == name) throw UsageError(formatted("{}: '{}' is named twice", option, name));
        if (folded(other.name) == folded(name))
            throw UsageError(formatted("{}: '{}' and '{}' differ only in case", option, other.name, name));
    }
}

[[noreturn]] void refuse_range(const std::string& option, const std::string& text) {
    throw UsageError(formatted("{}: '{}' is not a range A-B, A- or -B{}", option, text, range_hint(text)));
}

}  // namespace

std::uint64_t parse_count(const std::string& option, const std::string& text, std::uint64_t least) {
    const auto is_natural = [](std::string_view digits) {
        return !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
    };
    if (text.starts_with('-') && is_natural(std::string_view(text).substr(1)))
        throw UsageError(formatted("{}: '{}' must be at least {}", option, text, least));
    if (!is_natural(text)) throw UsageError(formatted("{}: '{}' is not a number{}", option, text, number_hint(text)));
    std::string_view rest = text;
    const std::uint64_t number = take_digits(option, rest, text);
    if (number < least)
        throw UsageError(formatted("{}: '{}' is too small; it must be at least {}", option, text, least));
    return number;
}

std::uint64_t parse_size(const std::string& option, const std::string& text) {
    std::string_view rest = text;
    const std::uint64_t whole = take_digits(option, rest, text);
    const std::string_view decimals = take_decimals(option, rest, text);
    const std::optional<std::uint64_t> unit = unit_of(rest);
    if (!unit || (*unit == 1 && !decimals.empty())) {
        throw UsageError(formatted("{}: '{}' has no known suffix (K, M, G, KB, KiB...)", option, text));
    }
    std::uint64_t size = 0;
    const bool is_too_large =
        __builtin_mul_overflow(whole, *unit, &size) || __builtin_add_overflow(size, share_of(decimals, *unit), &size);
    if (is_too_large) throw UsageError(formatted("{}: '{}' is too large", option, text));
    if (size == 0) throw UsageError(formatted("{}: '{}' is too small; it must be at least 1 byte", option, text));
    return size;
}

std::uint64_t parse_pieces(const std::string& option, const std::string& text) {
    const std::string hint = pieces_hint(text);
    if (!hint.empty()) throw UsageError(formatted("{}: '{}' is not a number{}", option, text, hint));
    return parse_count(option, text, 1);
}

Share parse_share(const std::string& option, const std::string& text) {
    const std::size_t slash = text.find('/');
    const std::string hint = share_hint(text);
    if (slash == std::string::npos || !hint.empty())
        throw UsageError(formatted("{}: '{}' is not K/N, such as 3/8{}", option, text, hint));
    const Share share{parse_count(option, text.substr(0, slash), 1), parse_count(option, text.substr(slash + 1), 1)};
    if (share.number > share.count)
        throw UsageError(formatted("{}: there is no piece {} of {}", option, share.number, share.count));
    return share;
}

std::vector<Part> parse_parts(const std::string& option, const std::string& text) {
    std::vector<Part> parts;
    std::vector<Weight> weights;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const std::string item = text.substr(begin, end - begin);
        const std::size_t equals = item.find('=');
        if (equals == std::string::npos || equals == 0) {
            throw UsageError(
                formatted("{}: '{}' is not NAME=WEIGHT, as in train=80,test=20{}", option, item, parts_hint(text)));
        }
        const std::string name = item.substr(0, equals);
        check_name(option, name);
        check_is_new(option, name, parts);
        const std::string weight = item.substr(equals + 1);
        const auto read = weight_of(weight);
        if (!read)
            throw UsageError(formatted("{}: the weight of '{}' is '{}'; it must be a number above 0, such as 10 or 0.1",
                                       option, name, weight));
        parts.push_back({name});
        weights.push_back(*read);
        begin = end + 1;
    }
    if (parts.size() > ByValue::kMostParts) {
        throw UsageError(
            formatted("{}: there are {} parts; the most is {}", option, parts.size(), ByValue::kMostParts));
    }
    const std::size_t decimals = std::ranges::max(weights, {}, &Weight::decimals).decimals;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        std::uint64_t& weight = parts[i].weight;
        const std::string digits = weights[i].digits + std::string(decimals - weights[i].decimals, '0');
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), weight);
        if (error != std::errc() || __builtin_add_overflow(sum, weight, &sum))
            throw UsageError(formatted("{}: the weights have too many digits", option));
    }
    return parts;
}

RecordRange parse_range(const std::string& option, const std::string& text) {
    RecordRange range;
    const std::size_t dash = text.find('-');
    const std::string first = text.substr(0, dash);
    const std::string last = dash == std::string::npos ? first : text.substr(dash + 1);
    if ((first.empty() && last.empty()) || !range_hint(text).empty()) refuse_range(option, text);
    if (!first.empty()) range.first = parse_count(option, first, 1);
    if (!last.empty()) range.last = parse_count(option, last, 1);
    if (range.last < range.first) throw UsageError(formatted("{}: '{}' ends before it begins", option, text));
    return range;
}

ByteRange parse_byte_range(const std::string& option, const std::string& text) {
    ByteRange range;
    const std::size_t dash = text.find('-');
    if (dash == std::string::npos || text.size() == 1) refuse_range(option, text);
    if (dash > 0) range.begin = parse_count(option, text.substr(0, dash), 0);
    if (dash + 1 < text.size()) range.end = parse_count(option, text.substr(dash + 1), 0);
    if (range.end && *range.end < range.begin)
        throw UsageError(formatted("{}: '{}' ends before it begins", option, text));
    return range;
}

std::uint8_t parse_byte(const std::string& option, const std::string& text) {
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
    throw UsageError(formatted("{}: '{}' is not one byte", option, text));
}

Encoding parse_encoding(const std::string& text) {
    try {
        return encoding_named(text);
    } catch (const ArgumentError& error) {
        throw UsageError(formatted("--encoding: {}", error.what()));
    }
}

std::vector<std::string> separate(const std::string& names) {
    std::istringstream stream(names);
    return {std::istream_iterator<std::string>(stream), {}};
}

std::string with_commas(const std::string& names) {
    std::string text;
    for (const char c : names) text += c == ' ' ? std::string(", ") : std::string(1, c);
    return text;
}

void refuse_choice(const std::string& option, const std::string& text, const std::string& names) {
    throw UsageError(formatted("{}: '{}' is not one of: {}{}", option, text, with_commas(names),
                               did_you_mean(text, separate(names))));
}

}  // namespace cleave::cli
