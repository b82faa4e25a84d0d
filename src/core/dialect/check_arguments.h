// Checks dialects that callers of the library pass in.
#pragma once

#include "cleave/dialect.h"

namespace cleave {

// Returns `dialect`. Throws ArgumentError if it has a fault.
const Dialect& checked(const Dialect& dialect);
const Dialect& checked(Dialect&& dialect) = delete;  // the reference would outlive it

}  // namespace cleave
