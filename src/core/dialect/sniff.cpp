// Sniffs whatever the user left open, from the first bytes of the data.
#include <algorithm>
#include <array>

#include "cleave/dialect.h"
#include "core/dialect/check_arguments.h"
#include "core/dialect/fit.h"
#include "core/dialect/preamble.h"

namespace cleave {
namespace {

using Bytes = std::span<const std::uint8_t>;

// How well a delimiter splits the records: 2 if (almost) all are split like the header, 1 if most are split, otherwise
// 0.
int split_rank(const DelimiterFit& fit) {
    if (splits_all(fit)) return 2;
    return fit.fields > 1 ? 1 : 0;
}

// Whether `a` fits better than `b`. The split counts for more than the quotes: a wrong delimiter that happens to
// precede a quote explains that quote, and even with the right delimiter the data may contain quotes.
bool better(const DelimiterFit& a, const DelimiterFit& b) {
    if (split_rank(a) != split_rank(b)) return split_rank(a) > split_rank(b);
    if (unexplained_quotes(a) != unexplained_quotes(b)) return unexplained_quotes(a) < unexplained_quotes(b);
    const double agreement_a = agreement_of(a);
    const double agreement_b = agreement_of(b);
    if (agreement_a != agreement_b) return agreement_a > agreement_b;
    return a.fields > b.fields;
}

// The dialect that the file's name implies, if any.
std::optional<Dialect> dialect_by_name(const Dialect& wanted, std::string_view name) {
    Dialect dialect = wanted;
    if (name.ends_with(".tsv") || name.ends_with(".tab")) {
        dialect.delimiter = '\t';
        if (!dialect_fault(dialect)) return dialect;  // unless TAB has been given another role
    }
    Dialect plain;
    plain.terminator = wanted.terminator;
    plain.preamble = wanted.preamble;
    if ((name.ends_with(".jsonl") || name.ends_with(".ndjson")) && wanted == plain) {
        dialect = dialect_preset("jsonl").value().dialect;
        dialect.terminator = wanted.terminator;
        return dialect;
    }
    return std::nullopt;
}

void settle_delimiter(SniffedDialect& sniffed, const Head& head, bool sniffs_terminator) {
    static constexpr std::array<std::uint8_t, 4> kCandidates = {',', ';', '\t', '|'};
    std::optional<DelimiterFit> best;
    DelimiterReason reason = DelimiterReason::kDefault;
    for (const std::uint8_t candidate : kCandidates) {
        Dialect dialect = sniffed.dialect;
        dialect.delimiter = candidate;
        if (dialect_fault(dialect)) continue;
        // A candidate that is not in the head leaves each record with one field. So it cannot be better than one that
        // splits records, or one that leaves no quote unexplained.
        if (!head.has(candidate) && best && (split_rank(*best) > 0 || unexplained_quotes(*best) == 0)) continue;
        if (sniffs_terminator) dialect.terminator = terminator_of(dialect, head);
        const DelimiterFit fit = fit_of(dialect, head);
        if (best && !better(fit, *best)) continue;
        if (best) reason = DelimiterReason::kQuotes;
        best = fit;
        sniffed.dialect.delimiter = candidate;
    }
    if (!best) return;  // the quote or the escape is invalid, whatever the delimiter
    sniffed.fit = *best;
    sniffed.delimiter_reason = split_rank(*best) > 0 ? DelimiterReason::kFit : reason;
}

// Settles the terminator, which the user left open. `begin` is the offset of the head in the input. Returns false if CR
// seems to end the lines of the preamble, but an LF ends a record after it.
bool settle_terminator(SniffedDialect& sniffed, const Preamble& preamble, const Head& head, std::size_t begin) {
    Terminator& terminator = sniffed.dialect.terminator;
    terminator = preamble.has_feed() ? Terminator::kLf : terminator_of(sniffed.dialect, head);
    const TerminatorFit fit = terminator_fit_of(sniffed.dialect, head);
    if (preamble.size > 0 && terminator != preamble.terminator) {
        if (fit.first) return false;
        terminator = preamble.terminator;
    }
    if (fit.first) sniffed.terminator_offset = *fit.first + begin;
    if (preamble.first_end) sniffed.terminator_offset = preamble.first_end;
    sniffed.lone_returns = fit.lone_returns;
    if (sniffed.lone_returns.first) *sniffed.lone_returns.first += begin;
    return true;
}

// Settles the dialect of what follows the preamble. Returns nothing if settle_terminator() returns false.
std::optional<SniffedDialect> settle_behind(const DialectOptions& wanted, const std::optional<Dialect>& named,
                                            const Preamble& preamble, Bytes bytes, bool is_all) {
    const bool has_preamble = preamble.size > 0;
    const auto end = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), preamble.size + kSniffSize));
    const std::size_t begin = has_preamble ? std::min<std::uint64_t>(preamble.size, end) : bom_size(bytes.first(end));
    const Head head = {bytes.first(end).subspan(begin), is_all && end == bytes.size()};

    SniffedDialect sniffed;
    sniffed.dialect = wanted.dialect;
    if (wanted.sniff_terminator) sniffed.dialect.terminator = Terminator::kLf;
    const bool heeds_line = wanted.sniff_delimiter || wanted.preamble.separator_line == SeparatorLine::kDelimiter;
    if (preamble.delimiter && heeds_line) {
        sniffed.dialect.delimiter = *preamble.delimiter;
        sniffed.delimiter_reason = DelimiterReason::kLine;
    } else if (named) {
        sniffed.dialect = *named;
        sniffed.delimiter_reason = DelimiterReason::kName;
    } else if (wanted.sniff_delimiter) {
        settle_delimiter(sniffed, head, wanted.sniff_terminator && !preamble.has_feed());
    }
    sniffed.dialect.preamble = preamble.size;
    checked(sniffed.dialect);
    if (wanted.sniff_terminator && !settle_terminator(sniffed, preamble, head, begin)) return std::nullopt;
    sniffed.doubt = doubt_of(sniffed, head);
    if (!has_preamble && sniffed.delimiter_reason == DelimiterReason::kFit)
        sniffed.lines_like_preamble = lines_like_preamble(sniffed.dialect, sniffed.fit, head);
    return sniffed;
}

}  // namespace

SniffedDialect settle_dialect(const DialectOptions& wanted, Bytes head, std::string_view name) {
    const auto sniffed = settle_within(wanted, head, head.size() < kSniffSize, name);
    if (!sniffed) throw_long_preamble(head.size());
    return *sniffed;
}

std::optional<SniffedDialect> settle_within(const DialectOptions& wanted, Bytes head, bool is_all,
                                            std::string_view name) {
    const auto named = wanted.sniff_delimiter ? dialect_by_name(wanted.dialect, name) : std::nullopt;
    DialectOptions open = wanted;
    if (named && named->header == HeaderRecord::kNone) {  // a line of JSON is never a separator line
        open.dialect = *named;
        open.preamble.separator_line = SeparatorLine::kData;
    }
    auto preamble = find_preamble(open, head, is_all);
    if (!preamble) return std::nullopt;
    if (auto sniffed = settle_behind(open, named, *preamble, head, is_all)) return sniffed;
    DialectOptions by_feed = open;
    by_feed.sniff_terminator = false;
    by_feed.dialect.terminator = Terminator::kLf;
    preamble = find_preamble(by_feed, head, is_all);
    return preamble ? settle_behind(open, named, *preamble, head, is_all) : std::nullopt;
}

}  // namespace cleave
