#include "core/dialect/fit.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/json_scan.h"

namespace cleave {
namespace {

std::string_view text_of(const Head& head) {
    return {reinterpret_cast<const char*>(head.bytes.data()), head.bytes.size()};
}

bool has_role(const Dialect& dialect, std::uint8_t byte) {
    return dialect.delimiter == byte || dialect.quote == byte || dialect.escape == byte;
}

// Whether records seem to end with `byte`. They do if `byte` occurs in at least two runs and in more runs than there
// are line breaks, if it is the last byte of the input apart from line breaks, and if it does not split the lines as a
// delimiter would.
bool seems_terminator(Dialect dialect, std::uint8_t byte, const Head& head) {
    if (has_role(dialect, byte) || !head.has(byte)) return false;
    std::size_t runs = 0;
    std::size_t breaks = 0;
    std::uint8_t before = byte;
    std::uint8_t last = byte;  // the last byte that is not a line break
    for (const std::uint8_t each : head.bytes) {
        const bool is_break = each == '\n' || each == '\r';
        if (is_break) ++breaks;
        if (!is_break) last = each;
        if (each == byte && before != byte) ++runs;
        before = each;
    }
    if (runs < 2 || runs <= breaks || (head.is_all && last != byte)) return false;
    dialect.delimiter = byte;
    const DelimiterFit fit = fit_of(dialect, head);
    return !splits_all(fit) || fit.records - fit.empty <= 1;
}

DialectDoubt doubt_of_terminator(const Dialect& dialect, const Head& head) {
    // 0x1E comes first, because where both occur, 0x1F separates fields.
    constexpr std::array<std::pair<std::uint8_t, DialectDoubt>, 3> kEnds = {{
        {std::uint8_t{0x1E}, DialectDoubt::kRecordSeparator},
        {std::uint8_t{0x00}, DialectDoubt::kNulTerminator},
        {std::uint8_t{0x1F}, DialectDoubt::kUnitSeparator},
    }};
    for (const auto& [byte, doubt] : kEnds) {
        if (seems_terminator(dialect, byte, head)) return doubt;
    }
    return DialectDoubt::kNone;
}

struct IgnoredJson {
    void key(std::size_t, JsonBytes) {}
    void element(std::size_t, std::uint64_t) {}
    void value(std::size_t, JsonKind, JsonBytes) {}
};

// The offset of the first fault in a JSON text, if there is one.
std::optional<std::size_t> json_fault_in(std::string_view text) {
    IgnoredJson sink;
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(text.data());
    const auto fault = scan_json(begin, begin + text.size(), sink);
    return fault ? std::optional(static_cast<std::size_t>(fault->at - begin)) : std::nullopt;
}

constexpr std::string_view kJsonBlanks = " \t\r\n";

// What an object or an array that does not end within the head seems to be: nothing if a line of the head is no JSON.
// `is_lines`: see below.
DialectDoubt doubt_of_long_json(std::string_view text, bool is_lines) {
    const bool is_object = text.front() == '{';
    const std::size_t end = text.rfind('\n');
    if (end != std::string_view::npos) {
        const std::string_view lines = text.substr(0, end);
        if (json_fault_in(lines) != lines.size()) return DialectDoubt::kNone;
        return is_object ? DialectDoubt::kJsonText : DialectDoubt::kJsonArray;
    }
    const std::size_t next = text.find_first_not_of(kJsonBlanks, 1);
    if (next == std::string_view::npos || is_lines) return DialectDoubt::kNone;
    if (is_object) return text[next] == '"' ? DialectDoubt::kJsonLines : DialectDoubt::kNone;
    return std::string_view("{[\"").find(text[next]) != std::string_view::npos ? DialectDoubt::kJsonArray
                                                                               : DialectDoubt::kNone;
}

// Whether the head begins with an object or an array that is JSON, and with nothing else in the line where that ends.
// Where quotes are plain data each line is a record, so it counts only if it spans several lines.
DialectDoubt doubt_of_json(const Head& head, bool is_lines) {
    std::string_view text = text_of(head);
    text.remove_prefix(std::min(text.find_first_not_of(kJsonBlanks), text.size()));
    if (text.empty() || (text.front() != '{' && text.front() != '[')) return DialectDoubt::kNone;
    const std::optional<std::size_t> fault = json_fault_in(text);
    const std::size_t size = fault.value_or(text.size());
    const std::string_view first = text.substr(0, text.find_last_not_of(kJsonBlanks, size - 1) + 1);
    const bool is_followed = text.find_first_of("\r\n", first.size()) < size;
    if (fault && (!is_followed || json_fault_in(first))) {
        return head.is_all ? DialectDoubt::kNone : doubt_of_long_json(text, is_lines);
    }
    if (first.find_first_of("\r\n") == std::string_view::npos) {
        if (is_lines) return DialectDoubt::kNone;
        return first.front() == '{' || fault ? DialectDoubt::kJsonLines : DialectDoubt::kJsonArray;
    }
    return first.front() == '{' ? DialectDoubt::kJsonText : DialectDoubt::kJsonArray;
}

bool has_escaped_quote(const Dialect& dialect, const Head& head) {
    const std::array<char, 2> escaped = {'\\', static_cast<char>(*dialect.quote)};
    const bool may_have = !dialect.escape && !has_role(dialect, '\\') && head.has('\\');
    return may_have && text_of(head).find(std::string_view(escaped.data(), escaped.size())) != std::string_view::npos;
}

// Whether most of the quotes that are out of place would be explained if backslash were an escape.
bool seems_escaped(Dialect dialect, const DelimiterFit& fit, const Head& head) {
    dialect.escape = '\\';
    return unexplained_quotes(fit_of(dialect, head)) * 2 < unexplained_quotes(fit);
}

// Whether the quotes hide line breaks between records that have the same number of fields if quotes are read as plain
// data.
bool seems_plain(Dialect dialect, const DelimiterFit& fit, const Head& head) {
    dialect.quote.reset();
    const DelimiterFit plain = fit_of(dialect, head);
    return plain.records > fit.records && splits_all(plain);
}

DialectDoubt doubt_of_quotes(const SniffedDialect& sniffed, const Head& head) {
    const Dialect& dialect = sniffed.dialect;
    const bool may_be_escaped = has_escaped_quote(dialect, head);
    const bool may_be_plain = dialect.delimiter != ',' && head.has(*dialect.quote);
    const DelimiterReason reason = sniffed.delimiter_reason;
    const bool is_sniffed =
        reason != DelimiterReason::kGiven && reason != DelimiterReason::kLine && reason != DelimiterReason::kName;
    if (!may_be_escaped && !may_be_plain && !is_sniffed) return DialectDoubt::kNone;
    const DelimiterFit fit = is_sniffed ? sniffed.fit : fit_of(dialect, head);
    if (unexplained_quotes(fit) == 0) return DialectDoubt::kNone;
    if (may_be_escaped && seems_escaped(dialect, fit, head)) return DialectDoubt::kEscapedQuotes;
    if (may_be_plain && seems_plain(dialect, fit, head)) return DialectDoubt::kPlainQuotes;
    const bool is_unexplained = is_sniffed && fit.misplaced_quotes > 0 && agreement_of(fit) < 0.5;
    return is_unexplained ? DialectDoubt::kQuotesUnexplained : DialectDoubt::kNone;
}

}  // namespace

DialectDoubt doubt_of(const SniffedDialect& sniffed, const Head& head) {
    const DialectDoubt doubt = doubt_of_terminator(sniffed.dialect, head);
    if (doubt != DialectDoubt::kNone) return doubt;
    const DialectDoubt of_json = doubt_of_json(head, !sniffed.dialect.quote);
    return of_json != DialectDoubt::kNone || !sniffed.dialect.quote ? of_json : doubt_of_quotes(sniffed, head);
}

}  // namespace cleave
