// Reads records exactly, one byte at a time, following the rules under "What a record is" in doc/internals/design.md.
// Where a kernel reports nothing suspect, its result is the same.
#pragma once

#include <array>
#include <cstdint>

#include "cleave/dialect_rules.h"

namespace cleave {

// The state of a reader between two bytes. At the start of the input it is kFieldStart.
enum class State : std::uint8_t {
    kRecordStart,     // just past a terminator
    kFieldStart,      // just past a delimiter, or at the start of the input
    kUnquoted,        // inside a field, outside quotes
    kQuoted,          // inside quotes
    kQuoteInQuoted,   // just past a quote that closes a section or is the first of a doubled one
    kEscape,          // just past an escape that acts outside quotes
    kEscapeInQuoted,  // just past an escape that acts inside quotes
    kCarriageReturn,  // just past a CR that ended the record unless an LF follows; only under Terminator::kAny
};
constexpr std::size_t kStateCount = 8;

constexpr bool is_quoted(State state) { return state == State::kQuoted || state == State::kEscapeInQuoted; }
constexpr bool is_escape(State state) { return state == State::kEscape || state == State::kEscapeInQuoted; }
// The reader is just past the last byte of a record, or between the CR and the LF of the CRLF that ends it.
constexpr bool is_past_record(State state) { return state == State::kRecordStart || state == State::kCarriageReturn; }

struct Transition {
    State next;
    bool starts_record;  // a record starts at this byte
    bool opens_quote;    // this byte opens a quoted section
};

// What is wrong with the dialect, as dialect_fault() says it; null if nothing is.
const char* fault_of(const Dialect& dialect) noexcept;

// Immutable after construction. Takes up 6 KiB.
class StateMachine {
public:
    // `quoting` replaces the dialect's quote mode, so that both modes can run side by side.
    StateMachine(const Dialect& dialect, Quoting quoting);
    explicit StateMachine(const Dialect& dialect) : StateMachine(dialect, dialect.quoting) {}

    const Transition& step(State state, std::uint8_t byte) const {
        return table_[static_cast<std::size_t>(state) * 256 + byte];
    }

private:
    std::array<Transition, kStateCount * 256> table_;
};

}  // namespace cleave
