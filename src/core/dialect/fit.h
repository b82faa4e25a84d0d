// How well a dialect fits the head of an input: the evidence that sniffing weighs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "cleave/dialect.h"

namespace cleave {

// The first bytes of an input, after its lead.
struct Head {
    std::span<const std::uint8_t> bytes;
    bool is_all = false;  // the input ends with these bytes

    bool has(std::uint8_t byte) const;
};

// Reads the head in the given dialect, but always with Quoting::kFieldStart, because that quote mode tells delimiters
// apart. Under Terminator::kLf, CRs right before an LF belong to the terminator, not to the last field. The dialect
// must be valid.
DelimiterFit fit_of(const Dialect& dialect, const Head& head);

// The terminator of the records in the head, given everything else about the dialect. Of what stands outside quotes:
// kCr if there are CRs and no LFs; kAny if at least two CRs without an LF come first, and LFs are ten times as rare or
// stand at the end of the input alone; otherwise kLf. A head without CRs is not parsed.
Terminator terminator_of(Dialect dialect, Head head);

// The terminators of the head.
struct TerminatorFit {
    std::optional<std::size_t> first;  // the offset of the first terminator outside quotes; for CRLF, of its CR
    // Under kLf: the CRs outside quotes that are not followed by an LF. A CR at the end of the head counts only if the
    // input ends there too.
    LoneReturns lone_returns;
};

TerminatorFit terminator_fit_of(const Dialect& dialect, const Head& head);

// How many lines at the start of the head look like a preamble: the first records, if each has at most half as many
// fields as most records have. 0 if any of these records spans several lines. `fit` must be the result of fit_of() for
// this dialect and head.
std::uint64_t lines_like_preamble(const Dialect& dialect, const DelimiterFit& fit, const Head& head);

// The share of non-empty records that have the most frequent number of fields, or 0 if that number is not above 1.
double agreement_of(const DelimiterFit& fit);

// Whether the delimiter splits the header, and splits at least 90 % of the records into as many fields as the header.
bool splits_all(const DelimiterFit& fit);

// The number of quotes that the dialect does not explain.
std::size_t unexplained_quotes(const DelimiterFit& fit);

// The first doubt about `sniffed` that the head raises, in the order of DialectDoubt. The dialect in `sniffed` must
// already be settled.
DialectDoubt doubt_of(const SniffedDialect& sniffed, const Head& head);

// Whether the first record of an input that begins with `head` looks like the records after it in several columns:
// numbers, dates or addresses. Years, and numbers that count, may well be names of columns.
bool seems_headerless(std::span<const std::uint8_t> head, const Dialect& dialect);

}  // namespace cleave
