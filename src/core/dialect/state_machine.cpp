#include "core/dialect/state_machine.h"

#include <algorithm>
#include <optional>

namespace cleave {
namespace {

enum class ByteClass : std::uint8_t { kOther, kQuote, kDelimiter, kEscape, kTerminator, kReturnOfPair };

ByteClass classify(const Dialect& dialect, std::uint8_t byte) {
    if (dialect.quote == byte) return ByteClass::kQuote;
    if (dialect.escape == byte) return ByteClass::kEscape;
    if (dialect.delimiter == byte) return ByteClass::kDelimiter;
    if (byte == '\n' && dialect.terminator != Terminator::kCr) return ByteClass::kTerminator;
    if (byte == '\r' && dialect.terminator == Terminator::kCr) return ByteClass::kTerminator;
    if (byte == '\r' && dialect.terminator == Terminator::kAny) return ByteClass::kReturnOfPair;
    return ByteClass::kOther;
}

// The next state, starting from a state outside quotes. Such states differ only in what a quote and an escape do.
State next_outside(ByteClass byte, State on_quote, State on_escape) {
    switch (byte) {
        case ByteClass::kQuote: return on_quote;
        case ByteClass::kEscape: return on_escape;
        case ByteClass::kDelimiter: return State::kFieldStart;
        case ByteClass::kTerminator: return State::kRecordStart;
        case ByteClass::kReturnOfPair: return State::kCarriageReturn;
        case ByteClass::kOther: break;
    }
    return State::kUnquoted;
}

State next_state(const Dialect& dialect, Quoting quoting, State state, std::uint8_t byte) {
    const ByteClass byte_class = classify(dialect, byte);
    const bool anywhere = quoting == Quoting::kAnywhere;
    const State on_escape = dialect.escape_scope == EscapeScope::kEverywhere ? State::kEscape : State::kUnquoted;
    switch (state) {
        case State::kCarriageReturn:  // an LF after the CR is a terminator like any other
        case State::kRecordStart:
        case State::kFieldStart: return next_outside(byte_class, State::kQuoted, on_escape);
        case State::kUnquoted: return next_outside(byte_class, anywhere ? State::kQuoted : State::kUnquoted, on_escape);
        case State::kQuoteInQuoted:
            return next_outside(byte_class, State::kQuoted, anywhere ? on_escape : State::kUnquoted);
        case State::kQuoted:
            if (byte_class == ByteClass::kQuote) return State::kQuoteInQuoted;
            return byte_class == ByteClass::kEscape ? State::kEscapeInQuoted : State::kQuoted;
        case State::kEscape: return State::kUnquoted;
        case State::kEscapeInQuoted: return State::kQuoted;
    }
    return state;
}

Transition transition(const Dialect& dialect, Quoting quoting, State state, std::uint8_t byte) {
    const State next = next_state(dialect, quoting, state, byte);
    const bool starts = state == State::kRecordStart || (state == State::kCarriageReturn && byte != '\n');
    return {next, starts, next == State::kQuoted && !is_quoted(state) && state != State::kQuoteInQuoted};
}

bool breaks_lines(std::optional<std::uint8_t> byte) { return byte == '\n' || byte == '\r'; }

}  // namespace

const char* fault_of(const Dialect& dialect) noexcept {
    if (breaks_lines(dialect.delimiter)) return "the delimiter cannot be a line break";
    if (breaks_lines(dialect.quote)) return "the quote cannot be a line break";
    if (breaks_lines(dialect.escape)) return "the escape cannot be a line break";
    if (dialect.quote == dialect.delimiter) return "the quote and the delimiter are the same byte";
    if (dialect.escape == dialect.delimiter) return "the escape and the delimiter are the same byte";
    if (dialect.escape && dialect.escape == dialect.quote) return "the escape and the quote are the same byte";
    return nullptr;
}

StateMachine::StateMachine(const Dialect& dialect, Quoting quoting) {
    // All bytes without a role behave the same way. There is always such a byte, because there are more bytes than
    // roles.
    const std::array<std::uint8_t, 5> with_role = {'\r', '\n', dialect.delimiter, dialect.quote.value_or('\n'),
                                                   dialect.escape.value_or('\n')};
    std::uint8_t plain = 0;
    while (std::ranges::find(with_role, plain) != with_role.end()) ++plain;
    for (std::size_t s = 0; s < kStateCount; ++s) {
        const auto state = static_cast<State>(s);
        Transition* row = table_.data() + s * 256;
        std::fill_n(row, 64, transition(dialect, quoting, state, plain));
        for (std::size_t size = 64; size < 256; size *= 2) std::copy_n(row, size, row + size);  // -O2 fills by the byte
        for (const std::uint8_t byte : with_role) row[byte] = transition(dialect, quoting, state, byte);
    }
}

}  // namespace cleave
