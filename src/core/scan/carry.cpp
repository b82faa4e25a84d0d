#include "core/scan/carry.h"

namespace cleave {
namespace {

// A longer run of escapes is not followed here but by the state machine, so that no input can make the look-back
// quadratic.
constexpr std::size_t kMaxEscapeRun = kLookBack - 1;

}  // namespace

Carry carry_of(State state) {
    Carry carry{};
    carry.inside = is_quoted(state) ? 1 : 0;
    carry.escaped = is_escape(state) ? 1 : 0;
    carry.after_terminator = state == State::kRecordStart || state == State::kCarriageReturn ? 1 : 0;
    carry.after_cr = state == State::kCarriageReturn ? 1 : 0;
    carry.after_quote = state == State::kQuoteInQuoted ? 1 : 0;
    carry.field_may_open = carry.after_terminator | carry.after_quote | (state == State::kFieldStart ? 1 : 0);
    return carry;
}

State state_of(const Carry& carry, EscapeScope scope) {
    if (carry.inside != 0) return carry.escaped != 0 ? State::kEscapeInQuoted : State::kQuoted;
    if (carry.escaped != 0) return scope == EscapeScope::kEverywhere ? State::kEscape : State::kUnquoted;
    if (carry.after_cr != 0) return State::kCarriageReturn;
    if (carry.after_terminator != 0) return State::kRecordStart;
    if (carry.after_quote != 0) return State::kQuoteInQuoted;
    return carry.field_may_open != 0 ? State::kFieldStart : State::kUnquoted;
}

std::optional<Carry> local_carry(std::span<const std::uint8_t> bytes, std::size_t begin, std::size_t offset,
                                 const Dialect& dialect) {
    if (offset <= begin) return carry_of(State::kFieldStart);
    const std::uint8_t last = bytes[offset - 1];
    const std::size_t run_end = dialect.escape == last ? offset : offset - 1;
    std::size_t run = 0;
    while (run < run_end - begin && dialect.escape == bytes[run_end - 1 - run]) {
        if (++run == kMaxEscapeRun) return std::nullopt;
    }
    const bool odd = run % 2 != 0;
    Carry carry{};
    if (dialect.escape == last) {
        carry.escaped = odd ? 1 : 0;
        return carry;
    }
    // As in the kernel, an escape with the scope kQuoted does not turn a delimiter or a terminator into plain data.
    const bool plain = odd && dialect.escape_scope == EscapeScope::kEverywhere;
    const bool any = dialect.terminator == Terminator::kAny;
    const bool is_return = last == '\r' && (any || dialect.terminator == Terminator::kCr);
    const bool is_feed = last == '\n' && dialect.terminator != Terminator::kCr;
    carry.after_terminator = (is_return || is_feed) && !plain ? 1 : 0;
    carry.after_cr = is_return && any && !plain ? 1 : 0;
    carry.after_quote = dialect.quote == last && !odd ? 1 : 0;
    const bool after_delimiter = dialect.delimiter == last && !plain;
    carry.field_may_open = carry.after_terminator | carry.after_quote | (after_delimiter ? 1 : 0);
    return carry;
}

}  // namespace cleave
