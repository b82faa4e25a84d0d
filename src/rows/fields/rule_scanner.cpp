#include "rows/fields/rule_scanner.h"

#include <algorithm>
#include <limits>

namespace cleave {
namespace {

constexpr std::string_view kBlanks = " \t";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The bytes that a word may contain. A word must not begin with '#'.
bool is_word_byte(char c) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr unsigned char kDelete = 0x7f;
    return byte > ' ' && byte != kDelete && std::string_view(",:(){}\"=!").find(c) == std::string_view::npos;
}

}  // namespace

std::size_t RuleScanner::place() {
    place_ += std::min(rest().find_first_not_of(kBlanks), rest().size());
    return place_;
}

bool RuleScanner::at_end() { return place() == source_.text.size(); }

bool RuleScanner::next_is(std::string_view symbol) {
    place();
    return rest().starts_with(symbol);
}

bool RuleScanner::next_is_word() { return !at_end() && rest().front() != '#' && is_word_byte(rest().front()); }

bool RuleScanner::accept(std::string_view symbol) {
    if (!next_is(symbol)) return false;
    place_ += symbol.size();
    return true;
}

void RuleScanner::expect(std::string_view symbol, std::string_view what) {
    if (!accept(symbol)) expected(what);
}

std::string_view RuleScanner::word() {
    if (!next_is_word()) return "";
    std::size_t size = 1;
    while (size < rest().size() && is_word_byte(rest()[size])) ++size;
    const std::string_view word = rest().substr(0, size);
    place_ += size;
    return word;
}

std::string_view RuleScanner::part(std::string_view stops) {
    std::size_t size = 0;
    while (size < rest().size() && is_word_byte(rest()[size]) && stops.find(rest()[size]) == std::string_view::npos) {
        ++size;
    }
    const std::string_view part = rest().substr(0, size);
    place_ += size;
    return part;
}

std::string RuleScanner::quoted() {
    const std::size_t start = place();
    expect("\"", "a quoted text");
    std::string text;
    while (true) {
        const std::size_t size = rest().find('"');
        if (size == std::string_view::npos) fail("the quote that opens here is not closed", start);
        text += rest().substr(0, size);
        place_ += size + 1;
        if (!rest().starts_with('"')) return text;
        text += '"';
        ++place_;
    }
}

std::uint64_t RuleScanner::digits() {
    if (rest().empty() || !is_digit(rest().front())) expected("a number");
    constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t number = 0;
    for (; !rest().empty() && is_digit(rest().front()); ++place_) {
        const auto digit = static_cast<std::uint64_t>(rest().front() - '0');
        number = number > (kLargest - digit) / 10 ? kLargest : number * 10 + digit;
    }
    return number;
}

void RuleScanner::expected(std::string_view what) {
    std::string reason = "expected " + std::string(what);
    if (at_end()) reason += " before the end";
    fail(reason, place_);
}

void RuleScanner::fail(const std::string& reason, std::size_t place) const {
    throw RuleError(reason, source_.origin, source_.text, place);
}

std::string in_quotes(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += c;
        quoted += c;
    }
    return quoted + '"';
}

std::string as_typed(std::string_view name) {
    const auto is_plain = [](char c) {
        return is_word_byte(c) && static_cast<unsigned char>(c) < 0x80 &&
               std::string_view("#*-[]").find(c) == std::string_view::npos;
    };
    return !name.empty() && std::ranges::all_of(name, is_plain) ? std::string(name) : in_quotes(name);
}

}  // namespace cleave
