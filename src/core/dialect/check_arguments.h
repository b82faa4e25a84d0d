// Checks dialects that callers of the library pass in.
#pragma once

#include "cleave/dialect.h"

namespace cleave {

// Returns `dialect`. Throws ArgumentError if it has a fault.
const Dialect& checked(const Dialect& dialect);
const Dialect& checked(Dialect&& dialect) = delete;  // the reference would outlive it

// A dialect that was checked and has no fault, so functions that take one need not check it again.
class ValidDialect final : public Dialect {
public:
    ValidDialect() = default;
    // Throws ArgumentError if the dialect has a fault.
    explicit ValidDialect(const Dialect& dialect) : Dialect(checked(dialect)) {}
    // `settled` must come from settle_dialect(), which has checked the dialect.
    explicit ValidDialect(const SniffedDialect& settled) : Dialect(settled.dialect) {}
};

}  // namespace cleave
