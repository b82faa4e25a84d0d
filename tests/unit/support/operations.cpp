#include "operations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <regex>
#include <vector>

namespace cleave::test {
namespace {

// The code points of a string; a byte that is not part of one counts as a separate character.
std::vector<std::string> characters_of(std::string_view text) {
    std::vector<std::string> characters;
    while (!text.empty()) {
        const auto lead = static_cast<unsigned char>(text[0]);
        const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
        bool is_valid = size > 1 && lead < 0xF8 && size <= text.size();
        std::uint32_t point = lead & (0xFFU >> (size + 1));
        for (std::size_t i = 1; is_valid && i < size; ++i) {
            const auto byte = static_cast<unsigned char>(text[i]);
            is_valid = byte >> 6 == 2;
            point = point << 6 | (byte & 0x3FU);
        }
        constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
        is_valid = is_valid && point >= kLeast[size] && point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF);
        characters.emplace_back(text.substr(0, is_valid ? size : 1));
        text.remove_prefix(characters.back().size());
    }
    return characters;
}

// `text` begins at byte `place` of the complete text.
OperationSyntax syntax_at(std::string_view text, std::size_t place);

ArgumentSyntax argument_at(std::string_view text, std::size_t place) {
    ArgumentSyntax argument;
    argument.place = place;
    const std::size_t equals = text.find('=');
    if (text[0] != '"' && equals != std::string_view::npos) {
        argument.key = text.substr(0, equals);
        text.remove_prefix(equals + 1);
        place += equals + 1;
    }
    argument.value = text;
    if (text.starts_with('"')) {
        argument.is_quoted = true;
        argument.value = text.substr(1, text.size() - 2);
    } else if (text.ends_with(')')) {
        argument.nested = {syntax_at(text, place)};
        argument.value = argument.nested[0].name;
    }
    return argument;
}

OperationSyntax syntax_at(std::string_view text, std::size_t place) {
    const std::size_t open = text.find('(');
    OperationSyntax syntax{std::string(text.substr(0, open)), place, {}};
    if (open == std::string_view::npos) return syntax;
    const std::size_t end = text.size() - 1;
    std::size_t depth = 0;
    for (std::size_t at = open + 1, begin = at; at <= end; ++at) {
        if ((at == end || (text[at] == ',' && depth == 0)) && at > begin) {
            while (text[begin] == ' ') ++begin;
            syntax.arguments.push_back(argument_at(text.substr(begin, at - begin), place + begin));
            begin = at + 1;
        }
        if (text[at] == '(') ++depth;
        if (text[at] == ')') --depth;
    }
    return syntax;
}

}  // namespace

OperationSyntax syntax_of(std::string_view text) { return syntax_at(text, 0); }

std::optional<std::string> applied(const Operation& operation, std::string_view text, Hasher& hasher) {
    // The memory has exactly the value's size, so that a sanitizer notices a read past it.
    const std::vector<std::uint8_t> bytes(text.begin(), text.end());
    const Value value{bytes.data(), bytes.size()};
    return std::visit(
        [&](const auto& chosen) -> std::optional<std::string> {
            constexpr std::uint8_t kUntouched = 0xA5;
            if constexpr (std::is_base_of_v<CpuOperation, std::remove_cvref_t<decltype(chosen)>>) {
                ADD_FAILURE() << "not an operation for a value alone";
                return std::nullopt;
            } else {
                const std::uint64_t bound = chosen.bound(value.size);
                const std::uint64_t size = chosen.measure(value, hasher);
                std::vector<std::uint8_t> out(bound + 16, kUntouched);
                EXPECT_EQ(chosen.write(value, out.data(), hasher), size);
                const std::uint64_t written = size == kBecomesNull ? 0 : size;
                EXPECT_LE(written, bound);
                if (written > bound) return std::nullopt;
                EXPECT_TRUE(std::all_of(out.begin() + static_cast<std::ptrdiff_t>(written), out.end(),
                                        [](std::uint8_t byte) { return byte == kUntouched; }));
                if (size == kBecomesNull) return std::nullopt;
                return std::string(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(written));
            }
        },
        operation);
}

std::string mask_by_code_points(std::string_view value, std::uint64_t first, std::uint64_t last, char sign) {
    std::vector<std::string> characters = characters_of(value);
    const bool is_whole = characters.size() <= first + last;
    std::string masked;
    for (std::size_t i = 0; i < characters.size(); ++i) {
        const bool stays = !is_whole && (i < first || i >= characters.size() - last);
        masked += stays ? characters[i] : std::string(1, sign);
    }
    return masked;
}

std::string email_by_search(std::string_view value) {
    const std::size_t at = value.rfind('@');
    const bool has_both = at != std::string_view::npos && at > 0 && at + 1 < value.size();
    const auto is_odd = [](char byte) {
        const std::string_view taken = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
        return taken.find(byte) == std::string_view::npos;
    };
    const std::string_view domain = has_both ? value.substr(at + 1) : "";
    const std::string_view label = domain.substr(domain.find_last_of('.') + 1);  // npos + 1 is 0
    const bool is_domain = !label.empty() && std::isalpha(static_cast<unsigned char>(label.front())) != 0;
    if (!is_domain || std::ranges::any_of(domain, is_odd)) return mask_by_code_points(value, 0, 0, '*');
    return mask_by_code_points(value.substr(0, at), 0, 0, '*') + std::string(value.substr(at));
}

std::optional<std::string> date_by_pattern(std::string_view value, std::size_t size) {
    static const std::regex kPattern(
        "([0-9]{4})-([0-9]{2})-([0-9]{2})"
        "([T ]([01][0-9]|2[0-3]):[0-5][0-9](:([0-5][0-9]|60)([.][0-9]+)?)?"
        "(Z|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)?)?");
    std::match_results<std::string_view::const_iterator> match;
    if (!std::regex_match(value.begin(), value.end(), match, kPattern)) return std::nullopt;
    using std::chrono::day, std::chrono::month, std::chrono::year;
    const auto number = [&](std::size_t i) { return static_cast<unsigned>(std::stoul(match[i].str())); };
    const std::chrono::year_month_day date(year(static_cast<int>(number(1))), month(number(2)), day(number(3)));
    if (!date.ok()) return std::nullopt;
    return std::string(value.substr(0, size));
}

std::optional<std::string> bucket_by_hand(std::string_view value, std::string_view width) {
    static const std::regex kPattern("([+-]?)([0-9]+)([.]([0-9]+))?");
    std::match_results<std::string_view::const_iterator> match;
    if (!std::regex_match(value.begin(), value.end(), match, kPattern)) return std::nullopt;
    const bool is_negative = match[1].str() == "-";
    const std::size_t point = width.find('.');
    const std::size_t decimals = point == std::string_view::npos ? 0 : width.size() - point - 1;
    std::string width_digits(width);
    std::erase(width_digits, '.');
    const std::uint64_t divisor = std::stoull(width_digits);

    std::string behind = match[4].str();
    behind.resize(std::max(behind.size(), decimals), '0');
    const std::string digits = match[2].str() + behind.substr(0, decimals);
    bool is_exact = behind.find_first_not_of('0', decimals) == std::string::npos;

    // The quotient, rounded away from zero if the value is negative.
    std::string quotient(1, '0');
    std::uint64_t remainder = 0;
    for (const char digit : digits) {
        remainder = 10 * remainder + static_cast<std::uint64_t>(digit - '0');
        quotient += static_cast<char>('0' + remainder / divisor);
        remainder %= divisor;
    }
    is_exact = is_exact && remainder == 0;
    if (is_negative && !is_exact) {
        std::size_t i = quotient.size() - 1;
        for (; quotient[i] == '9'; --i) quotient[i] = '0';
        ++quotient[i];
    }

    std::string product;  // last digit first
    std::uint64_t carry = 0;
    for (std::size_t i = quotient.size(); i-- > 0; carry /= 10) {
        carry += static_cast<std::uint64_t>(quotient[i] - '0') * divisor;
        product += static_cast<char>('0' + carry % 10);
    }
    for (; carry > 0; carry /= 10) product += static_cast<char>('0' + carry % 10);
    while (product.size() > decimals + 1 && product.back() == '0') product.pop_back();
    while (product.size() < decimals + 1) product += '0';
    const bool is_zero = product.find_first_not_of('0') == std::string::npos;
    std::ranges::reverse(product);
    if (decimals > 0) product.insert(product.size() - decimals, ".");
    return (is_negative && !is_zero ? "-" : "") + product;
}

}  // namespace cleave::test
