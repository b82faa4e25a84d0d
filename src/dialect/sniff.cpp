// Sniffs what the user left open, from the first bytes of the data.
#include <algorithm>
#include <array>

#include "cleave/dialect.h"
#include "dialect/contract.h"
#include "dialect/doubt.h"
#include "dialect/fit.h"

namespace cleave {
namespace {

// How a delimiter splits records: all of them as the header, or most of them, or fewer.
int split_rank(const DelimiterFit& fit) {
    if (splits_all(fit)) return 2;
    return fit.fields > 1 ? 1 : 0;
}

// Whether `a` fits better. Quotes stand behind the split: a wrong delimiter that stands before a quote by chance
// explains that quote, and a right one may have quotes in its data.
bool better(const DelimiterFit& a, const DelimiterFit& b) {
    if (split_rank(a) != split_rank(b)) return split_rank(a) > split_rank(b);
    if (unexplained_quotes(a) != unexplained_quotes(b)) return unexplained_quotes(a) < unexplained_quotes(b);
    const double agreement_a = agreement_of(a);
    const double agreement_b = agreement_of(b);
    if (agreement_a != agreement_b) return agreement_a > agreement_b;
    return a.fields > b.fields;
}

// The dialect that the name stands for, or nothing.
std::optional<Dialect> dialect_by_name(const Dialect& wanted, std::string_view name) {
    Dialect dialect = wanted;
    if (name.ends_with(".tsv") || name.ends_with(".tab")) {
        dialect.delimiter = '\t';
        if (!dialect_fault(dialect)) return dialect;  // unless TAB has been given another role
    }
    Dialect plain;
    plain.terminator = wanted.terminator;
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
        // A byte that the head has not got leaves each record with one field. So it is not better than a byte that
        // splits records, or under which no quote is misplaced.
        if (!head.has(candidate) && best && (split_rank(*best) > 0 || unexplained_quotes(*best) == 0)) continue;
        if (sniffs_terminator) dialect.terminator = terminator_of(dialect, head);
        const DelimiterFit fit = fit_of(dialect, head);
        if (best && !better(fit, *best)) continue;
        if (best) reason = DelimiterReason::kQuotes;
        best = fit;
        sniffed.dialect.delimiter = candidate;
    }
    if (!best) return;  // the quote or the escape has a fault, whatever the delimiter is
    sniffed.fit = *best;
    sniffed.delimiter_reason = split_rank(*best) > 0 ? DelimiterReason::kFit : reason;
}

}  // namespace

SniffedDialect settle_dialect(const DialectOptions& wanted, std::span<const std::uint8_t> bytes,
                              std::string_view name) {
    const std::size_t bom = bom_size(bytes);
    const Head head = {bytes.first(std::min(bytes.size(), kSniffSize)).subspan(bom), bytes.size() < kSniffSize};
    SniffedDialect sniffed;
    sniffed.dialect = wanted.dialect;
    if (wanted.sniff_delimiter) {
        if (const auto dialect = dialect_by_name(wanted.dialect, name)) {
            sniffed.dialect = *dialect;
            sniffed.delimiter_reason = DelimiterReason::kName;
        } else {
            settle_delimiter(sniffed, head, wanted.sniff_terminator);
        }
    }
    checked(sniffed.dialect);
    if (wanted.sniff_terminator) {
        const TerminatorFit fit = terminator_fit_of(sniffed.dialect, head);
        sniffed.dialect.terminator = fit.terminator;
        if (fit.first) sniffed.terminator_offset = *fit.first + bom;
        sniffed.lone_returns = fit.lone_returns;
        if (sniffed.lone_returns.first) *sniffed.lone_returns.first += bom;
    }
    sniffed.doubt = doubt_of(sniffed, head);
    return sniffed;
}

}  // namespace cleave
