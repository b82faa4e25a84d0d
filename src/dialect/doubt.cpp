#include "dialect/doubt.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

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
    const auto* end =
        std::ranges::find_if(kEnds, [&](const auto& each) { return seems_terminator(dialect, each.first, head); });
    return end == kEnds.end() ? DialectDoubt::kNone : end->second;
}

// Whether the first line looks like a JSON object: {"...": ...}.
bool seems_json_lines(const Head& head) {
    constexpr std::string_view kSpaces = " \t\r";
    std::string_view line = text_of(head);
    line.remove_prefix(std::min(line.find_first_not_of("\n\r"), line.size()));
    line = line.substr(0, line.find('\n'));
    const std::size_t begin = line.find_first_not_of(kSpaces);
    if (begin == std::string_view::npos || line[begin] != '{') return false;
    if (line[line.find_last_not_of(kSpaces)] != '}') return false;
    const std::size_t key = line.find_first_not_of(kSpaces, begin + 1);
    return line[key] == '"' || line[key] == '}';
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
    const bool may_be_plain = dialect.delimiter == '\t' && head.has(*dialect.quote);
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
    if (doubt != DialectDoubt::kNone || !sniffed.dialect.quote) return doubt;
    return seems_json_lines(head) ? DialectDoubt::kJsonLines : doubt_of_quotes(sniffed, head);
}

}  // namespace cleave
