// Converts a dialect into the parameters of a kernel.
#pragma once

#include "cleave/dialect_rules.h"
#include "core/kernels/kernel.h"

namespace cleave {

inline EscapeUse escape_use(const Dialect& dialect) {
    if (!dialect.escape) return EscapeUse::kNone;
    if (dialect.escape_scope == EscapeScope::kEverywhere) return EscapeUse::kEverywhere;
    return dialect.quote ? EscapeUse::kQuoted : EscapeUse::kNone;
}

inline Markup markup_of(const Dialect& dialect) {
    const bool any = dialect.terminator == Terminator::kAny;
    return Markup{dialect.quote.value_or(0), dialect.delimiter, dialect.escape.value_or(0),
                  static_cast<std::uint8_t>(dialect.terminator == Terminator::kCr ? '\r' : '\n'),
                  variant_of(dialect.quote.has_value(), any, escape_use(dialect))};
}

}  // namespace cleave
