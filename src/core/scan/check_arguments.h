// Checks executions that callers of the library pass in.
#pragma once

#include "cleave/scan.h"

namespace cleave {

// Returns the kernel of the execution. Throws ArgumentError if the execution has no threads or an invalid block
// size, and whatever default_kernel() throws.
const Kernel& checked_kernel(const Execution& execution);

}  // namespace cleave
