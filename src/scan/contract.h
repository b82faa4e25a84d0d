// The check of machines where callers of the library hand them in.
#pragma once

#include "cleave/scan.h"

namespace cleave {

// The kernel that the machine's work is done with. Throws std::invalid_argument if the machine has no thread or no
// allowed block size, and what default_kernel() throws.
const Kernel& checked_kernel(const Machine& machine);

}  // namespace cleave
