// How a dialect fits the head of an input: the evidence that sniffing weighs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "cleave/dialect.h"

namespace cleave {

// The first bytes of an input, without its lead.
struct Head {
    std::span<const std::uint8_t> bytes;
    bool is_all = false;  // the input ends here

    bool has(std::uint8_t byte) const;
};

// Reads the head by the dialect, but always by Quoting::kFieldStart, the rule that tells delimiters apart. Under
// Terminator::kLf the CRs right before an LF belong to it, not to the last field. The dialect must have no fault.
DelimiterFit fit_of(const Dialect& dialect, const Head& head);

// What ends the records of the head, read by the rest of the dialect: kCr if CRs stand outside quotes, and no LF does;
// otherwise kLf. Does not read a head without CRs.
Terminator terminator_of(Dialect dialect, Head head);

// Where terminators stand in the head.
struct TerminatorFit {
    std::optional<std::size_t> first;  // the offset of the first terminator outside quotes: of its CR for CRLF
    // Under kLf: CRs outside quotes that no LF follows. A CR that the head ends with is one only if the input ends too.
    LoneReturns lone_returns;
};

TerminatorFit terminator_fit_of(const Dialect& dialect, const Head& head);

// How many lines at the start of the head look like a preamble: its first records, if they have at most half of the
// fields that most records have. 0 if some of them do not end with their lines. `fit` is that of the dialect.
std::uint64_t lines_like_preamble(const Dialect& dialect, const DelimiterFit& fit, const Head& head);

// The share of records, empty ones left out, that have the most frequent number of fields; 0 if that number is not
// above 1.
double agreement_of(const DelimiterFit& fit);

// Whether the delimiter splits the header, and at least 90 % of the records as it splits the header.
bool splits_all(const DelimiterFit& fit);

// The quotes that the dialect does not explain.
std::size_t unexplained_quotes(const DelimiterFit& fit);

}  // namespace cleave
