// The options of the group "Dialect".
#pragma once

#include "cli/given.h"
#include "cli/options.h"

namespace cleave::cli {

// Throws UsageError.
void take_dialect(const Given& given, Arguments& arguments);

}  // namespace cleave::cli
