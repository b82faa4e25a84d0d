// The bytes that a reader of a dialect looks for, as plain data for device code. Also tells whether a device can read a
// dialect.
#pragma once

#include <cstdint>
#include <optional>

#include "cleave/dialect.h"

namespace cleave {

// The roles that bytes play for a reader.
struct ParseMarkup {
    std::uint8_t quote;
    std::uint8_t delimiter;
    std::uint8_t terminator;      // LF if every line end terminates a record
    std::uint8_t other_line_end;  // CR if the terminator is LF, else LF
    bool has_quote;
    bool any_terminator;  // CR, LF and CRLF all terminate records
};

// Returns std::nullopt if a device cannot read the dialect, because it has escapes.
inline std::optional<ParseMarkup> parse_markup(const Dialect& dialect) {
    if (dialect.escape && (dialect.escape_scope == EscapeScope::kEverywhere || dialect.quote)) return std::nullopt;
    const bool is_return = dialect.terminator == Terminator::kCr;
    return ParseMarkup{dialect.quote.value_or(0),
                       dialect.delimiter,
                       static_cast<std::uint8_t>(is_return ? '\r' : '\n'),
                       static_cast<std::uint8_t>(is_return ? '\n' : '\r'),
                       dialect.quote.has_value(),
                       dialect.terminator == Terminator::kAny};
}

}  // namespace cleave
