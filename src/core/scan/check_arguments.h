// Checks executions that callers of the library pass in, and has what is behind such checks.
#pragma once

#include "cleave/scan.h"
#include "core/dialect/check_arguments.h"

namespace cleave {

// Returns the kernel of the execution. Throws ArgumentError if the execution has no threads or an invalid block
// size, and whatever default_kernel() throws.
const Kernel& checked_kernel(const Execution& execution);

// As in cleave/scan.h, for a dialect that has been checked.
RecordIndex index_records(Input& input, const ValidDialect& dialect, const Execution& execution);

}  // namespace cleave
