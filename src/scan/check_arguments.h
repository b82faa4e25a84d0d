// Checks executions that callers of the library pass in.
#pragma once

#include "cleave/scan.h"

namespace cleave {

// The kernel of the execution. Throws std::invalid_argument if it has no thread or no allowed block size, and what
// default_kernel() throws.
const Kernel& checked_kernel(const Execution& execution);

}  // namespace cleave
