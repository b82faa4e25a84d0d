// Checks output options that callers of the library pass in.
#pragma once

#include "cleave/output.h"

namespace cleave {

// Throws ArgumentError if cleave/output.h does not allow them.
void check(const OutputOptions& options);

}  // namespace cleave
