#include "core/dialect/fit.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "core/dialect/state_machine.h"

namespace cleave {
namespace {

using Bytes = std::span<const std::uint8_t>;

// Which bytes have a role in the dialect. CR and LF always count, whatever the terminator.
class Roles {
public:
    explicit Roles(const Dialect& dialect) {
        for (const std::uint8_t byte : {std::uint8_t{'\r'}, std::uint8_t{'\n'}, dialect.delimiter})
            has_role_[byte] = true;
        if (dialect.quote) has_role_[*dialect.quote] = true;
        if (dialect.escape) has_role_[*dialect.escape] = true;
    }

    // The first offset at or after `offset` whose byte can change `state`.
    std::size_t next(Bytes head, std::size_t offset, State state) const {
        if (state != State::kUnquoted && state != State::kQuoted) return offset;
        while (offset < head.size() && !has_role_[head[offset]]) ++offset;
        return offset;
    }

private:
    std::array<bool, 256> has_role_{};
};

// A byte of the head as the state machine reads it.
struct Step {
    std::size_t offset;
    std::uint8_t byte;
    State before;
    Transition transition;

    // Whether a record ends here. The LF of a CRLF does not end another record, because its CR has already ended this
    // one.
    bool ends_record() const { return is_past_record(transition.next) && !is_rest_of_crlf(); }
    bool is_rest_of_crlf() const { return before == State::kCarriageReturn && byte == '\n'; }
};

// Calls `take` with each step that may matter, until it returns false. Under Terminator::kLf, CRs right before an LF
// are skipped. Returns the state at the end.
template <class Take>
State read(const Dialect& dialect, Quoting quoting, const Head& head, const Take& take) {
    const StateMachine machine(dialect, quoting);
    const Roles roles(dialect);
    const Bytes bytes = head.bytes;
    State state = State::kFieldStart;
    std::size_t lone_until = 0;  // CRs before this offset are not followed by an LF
    for (std::size_t i = roles.next(bytes, 0, state); i < bytes.size(); i = roles.next(bytes, i + 1, state)) {
        const bool may_be_pair = bytes[i] == '\r' && dialect.terminator == Terminator::kLf && i >= lone_until;
        if (may_be_pair && !is_quoted(state) && !is_escape(state)) {
            while (lone_until < i || (lone_until < bytes.size() && bytes[lone_until] == '\r')) ++lone_until;
            const bool is_pair = lone_until == bytes.size() ? !head.is_all : bytes[lone_until] == '\n';
            if (is_pair) i = lone_until;
            if (i == bytes.size()) break;
        }
        const Step step{i, bytes[i], state, machine.step(state, bytes[i])};
        state = step.transition.next;
        if (!take(step)) break;
    }
    return state;
}

// Whether a CR has no LF behind it, in quotes or not.
bool has_lone_return(Bytes bytes) {
    while (!bytes.empty()) {
        const auto* const at = static_cast<const std::uint8_t*>(std::memchr(bytes.data(), '\r', bytes.size()));
        if (at == nullptr) return false;
        bytes = bytes.subspan(static_cast<std::size_t>(at + 1 - bytes.data()));
        if (bytes.empty() || bytes.front() != '\n') return true;
    }
    return false;
}

}  // namespace

bool Head::has(std::uint8_t byte) const {
    return !bytes.empty() && std::memchr(bytes.data(), byte, bytes.size()) != nullptr;
}

DelimiterFit fit_of(const Dialect& dialect, const Head& head) {
    DelimiterFit fit;
    std::map<std::size_t, std::size_t> records_by_fields;
    std::size_t fields = 1;
    bool is_empty = true;
    const auto end_record = [&] {
        ++fit.records;
        if (is_empty) {
            ++fit.empty;
        } else {
            if (fit.header_fields == 0) fit.header_fields = fields;
            ++records_by_fields[fields];
        }
        fields = 1;
        is_empty = true;
    };
    const State end = read(dialect, Quoting::kFieldStart, head, [&](const Step& step) {
        const State next = step.transition.next;
        if (step.ends_record()) {
            end_record();
        } else if (!step.is_rest_of_crlf()) {
            is_empty = false;
        }
        if (step.transition.opens_quote) ++fit.quotes;
        if (next == State::kFieldStart) ++fields;
        const bool is_quote = step.before == State::kUnquoted && dialect.quote == step.byte;
        if (next == State::kUnquoted && (step.before == State::kQuoteInQuoted || is_quote)) ++fit.misplaced_quotes;
        return true;
    });
    fit.ends_in_quotes = is_quoted(end);
    if (head.is_all && !is_empty) end_record();
    for (const auto& [count, frequency] : records_by_fields) {
        if (frequency > fit.agreeing) {
            fit.fields = count;
            fit.agreeing = frequency;
        }
    }
    return fit;
}

Terminator terminator_of(Dialect dialect, Head head) {
    // CRs at the end may belong to a CRLF whose LF lies beyond the head.
    while (!head.is_all && !head.bytes.empty() && head.bytes.back() == '\r')
        head.bytes = head.bytes.first(head.bytes.size() - 1);
    if (!head.has('\r')) return Terminator::kLf;
    dialect.terminator = Terminator::kAny;
    std::size_t returns = 0;  // those that no LF follows
    std::size_t feeds = 0;
    std::size_t first_feed = 0;
    read(dialect, dialect.quoting, head, [&](const Step& step) {
        if (!is_past_record(step.transition.next)) return true;
        if (step.byte == '\r') {
            ++returns;
            return true;
        }
        if (step.is_rest_of_crlf()) --returns;
        if (feeds++ == 0) first_feed = step.offset;
        return returns > 0;  // where an LF comes first, it ends records
    });
    if (returns == 0) return Terminator::kLf;
    if (feeds == 0) return Terminator::kCr;
    const auto is_break = [](std::uint8_t byte) { return byte == '\r' || byte == '\n'; };
    const bool is_last = head.is_all && std::ranges::all_of(head.bytes.subspan(first_feed), is_break);
    constexpr std::size_t kFarMore = 10;
    return returns > 1 && (is_last || returns >= kFarMore * feeds) ? Terminator::kAny : Terminator::kLf;
}

TerminatorFit terminator_fit_of(const Dialect& dialect, const Head& head) {
    TerminatorFit fit;
    const bool counts_returns = dialect.terminator == Terminator::kLf && has_lone_return(head.bytes);
    read(dialect, dialect.quoting, head, [&](const Step& step) {
        if (step.ends_record() && !fit.first) {
            std::size_t begin = step.offset;
            while (step.byte == '\n' && begin > 0 && head.bytes[begin - 1] == '\r') --begin;
            fit.first = begin;
        }
        const bool is_outside = !is_quoted(step.before) && !is_escape(step.before);
        if (step.byte == '\r' && is_outside && !step.ends_record() && fit.lone_returns.count++ == 0) {
            fit.lone_returns.first = step.offset;
        }
        return counts_returns || !fit.first;
    });
    return fit;
}

std::uint64_t lines_like_preamble(const Dialect& dialect, const DelimiterFit& fit, const Head& head) {
    constexpr std::size_t kLeastFields = 3;
    constexpr std::uint64_t kMostLines = 100;
    if (fit.fields < kLeastFields || fit.agreeing < 2) return 0;
    // For most inputs the first line is enough to settle this, without running the state machine.
    const auto line_end =
        std::ranges::find_if(head.bytes, [](std::uint8_t byte) { return byte == '\n' || byte == '\r'; });
    const auto delimiters = std::count(head.bytes.begin(), line_end, dialect.delimiter);
    if (std::cmp_greater_equal(delimiters, fit.fields / 2)) return 0;
    std::size_t fields = 1;
    std::uint64_t lines = 0;
    bool is_known = false;  // whether the last record had as many fields as most records
    read(dialect, Quoting::kFieldStart, head, [&](const Step& step) {
        if (step.transition.next == State::kFieldStart) ++fields;
        if (step.byte == '\n' && is_quoted(step.transition.next)) return false;
        if (!step.ends_record()) return true;
        is_known = fields == fit.fields;
        if (fields > fit.fields / 2 || ++lines > kMostLines) return false;
        fields = 1;
        return true;
    });
    return is_known ? lines : 0;
}

double agreement_of(const DelimiterFit& fit) {
    return fit.fields > 1 ? static_cast<double>(fit.agreeing) / static_cast<double>(fit.records - fit.empty) : 0;
}

bool splits_all(const DelimiterFit& fit) {
    constexpr double kAlmostAll = 0.9;
    return fit.header_fields == fit.fields && agreement_of(fit) >= kAlmostAll;
}

std::size_t unexplained_quotes(const DelimiterFit& fit) { return fit.misplaced_quotes + (fit.ends_in_quotes ? 1 : 0); }

}  // namespace cleave
