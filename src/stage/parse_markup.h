// What a reader of a dialect looks for, as plain bytes: for code of a device. Says of a dialect whether a device can
// read it.
#pragma once

#include <cstdint>
#include <optional>

#include "cleave/dialect.h"

namespace cleave {

// What a byte may be to a reader.
struct ParseMarkup {
    std::uint8_t quote;
    std::uint8_t delimiter;
    std::uint8_t terminator;      // LF, if any line end terminates
    std::uint8_t other_line_end;  // CR if the terminator is LF, else LF
    bool has_quote;
    bool any_terminator;  // CR, LF and CRLF terminate
};

// Nothing if a device cannot read the dialect: it has escapes.
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
