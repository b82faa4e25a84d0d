// Sniffs what the user left open, from the first bytes of the data.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include "cleave/dialect.h"
#include "dialect/contract.h"
#include "dialect/state_machine.h"

namespace cleave {
namespace {

using Bytes = std::span<const std::uint8_t>;

// Which bytes have a role under Terminator::kAny.
class Roles {
public:
    explicit Roles(const Dialect& dialect) {
        for (const std::uint8_t byte : {std::uint8_t{'\r'}, std::uint8_t{'\n'}, dialect.delimiter})
            has_role_[byte] = true;
        if (dialect.quote) has_role_[*dialect.quote] = true;
        if (dialect.escape) has_role_[*dialect.escape] = true;
    }

    // The next offset, from `offset` on, whose byte can change that state.
    std::size_t next(Bytes head, std::size_t offset, State state) const {
        if (state != State::kUnquoted && state != State::kQuoted) return offset;
        while (offset < head.size() && !has_role_[head[offset]]) ++offset;
        return offset;
    }

private:
    std::array<bool, 256> has_role_{};
};

// The share of records that have the most frequent number of fields; 0 if that number is not above 1.
double agreement_of(const DelimiterFit& fit) {
    return fit.fields > 1 ? static_cast<double>(fit.agreeing) / static_cast<double>(fit.records) : 0;
}

// Whether `a` fits better: fewer misplaced quotes; then more agreement; then more fields.
bool better(const DelimiterFit& a, const DelimiterFit& b) {
    if (a.misplaced_quotes != b.misplaced_quotes) return a.misplaced_quotes < b.misplaced_quotes;
    const double agreement_a = agreement_of(a);
    const double agreement_b = agreement_of(b);
    if (agreement_a != agreement_b) return agreement_a > agreement_b;
    return a.fields > b.fields;
}

DelimiterFit fit_of(Dialect dialect, Bytes head, bool head_is_all) {
    dialect.terminator = Terminator::kAny;
    const StateMachine machine(dialect, Quoting::kFieldStart);
    DelimiterFit fit;
    std::map<std::size_t, std::size_t> records_by_fields;
    std::size_t fields = 1;
    const auto end_record = [&] {
        ++fit.records;
        ++records_by_fields[fields];
        fields = 1;
    };
    const Roles roles(dialect);
    State state = State::kFieldStart;
    for (std::size_t i = roles.next(head, 0, state); i < head.size(); i = roles.next(head, i + 1, state)) {
        const std::uint8_t byte = head[i];
        const Transition& transition = machine.step(state, byte);
        if (transition.starts_record) end_record();
        if (transition.opens_quote) ++fit.quotes;
        if (transition.next == State::kFieldStart) ++fields;
        if (transition.next == State::kUnquoted &&
            (state == State::kQuoteInQuoted || (state == State::kUnquoted && dialect.quote == byte))) {
            ++fit.misplaced_quotes;
        }
        state = transition.next;
    }
    if (!head.empty() && (head_is_all || state == State::kRecordStart)) end_record();
    for (const auto& [count, frequency] : records_by_fields) {
        if (frequency > fit.agreeing) {
            fit.fields = count;
            fit.agreeing = frequency;
        }
    }
    return fit;
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

void settle_delimiter(SniffedDialect& sniffed, Bytes head, bool head_is_all, std::string_view name) {
    if (const auto dialect = dialect_by_name(sniffed.dialect, name)) {
        sniffed.dialect = *dialect;
        sniffed.delimiter_reason = DelimiterReason::kName;
        return;
    }
    static constexpr std::array<std::uint8_t, 4> kCandidates = {',', ';', '\t', '|'};
    std::optional<DelimiterFit> best;
    for (const std::uint8_t candidate : kCandidates) {
        Dialect dialect = sniffed.dialect;
        dialect.delimiter = candidate;
        if (dialect_fault(dialect)) continue;
        // A byte that the head has not got leaves each record with one field. So it is not better than a byte under
        // which no quote is misplaced.
        const bool is_there = !head.empty() && std::memchr(head.data(), candidate, head.size()) != nullptr;
        if (!is_there && best && best->misplaced_quotes == 0) continue;
        const DelimiterFit fit = fit_of(dialect, head, head_is_all);
        if (best && !better(fit, *best)) continue;
        best = fit;
        sniffed.dialect.delimiter = candidate;
    }
    if (!best) return;  // the quote or the escape has a fault, whatever the delimiter is
    sniffed.fit = *best;
    sniffed.delimiter_reason = best->fields > 1 ? DelimiterReason::kFit : DelimiterReason::kDefault;
    sniffed.quotes_unexplained = best->misplaced_quotes > 0 && agreement_of(*best) < 0.5;
}

// The first terminator outside quotes decides. CRs right before an LF belong to it: CRLF, and the CRCRLF that text-mode
// copies make.
void settle_terminator(SniffedDialect& sniffed, Bytes head, bool head_is_all) {
    Dialect dialect = sniffed.dialect;
    dialect.terminator = Terminator::kAny;
    const StateMachine machine(dialect);
    const Roles roles(dialect);
    sniffed.dialect.terminator = Terminator::kLf;
    State state = State::kFieldStart;
    for (std::size_t i = roles.next(head, 0, state); i < head.size(); i = roles.next(head, i + 1, state)) {
        state = machine.step(state, head[i]).next;
        if (!is_past_record(state)) continue;
        sniffed.terminator_offset = i;
        if (state == State::kRecordStart) return;
        const auto after = std::ranges::find_if(head.subspan(i), [](std::uint8_t byte) { return byte != '\r'; });
        const bool lone = after == head.subspan(i).end() ? head_is_all : *after != '\n';
        if (lone) sniffed.dialect.terminator = Terminator::kCr;
        return;
    }
}

}  // namespace

SniffedDialect settle_dialect(const DialectOptions& wanted, Bytes head, std::string_view name) {
    const bool head_is_all = head.size() < kSniffSize;
    head = head.first(std::min(head.size(), kSniffSize));
    const std::size_t bom = bom_size(head);
    head = head.subspan(bom);
    SniffedDialect sniffed;
    sniffed.dialect = wanted.dialect;
    if (wanted.sniff_delimiter) settle_delimiter(sniffed, head, head_is_all, name);
    checked(sniffed.dialect);
    if (wanted.sniff_terminator) settle_terminator(sniffed, head, head_is_all);
    if (sniffed.terminator_offset) *sniffed.terminator_offset += bom;
    return sniffed;
}

}  // namespace cleave
