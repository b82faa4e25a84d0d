// The options for where output goes and how it looks: -o, --manifest, --compress, --filter, --format and others.
#pragma once

#include "cli/given.h"
#include "cli/options.h"

namespace cleave::cli {

// The policy and the clone mode in `arguments` must be set already. Checks whether -o names a folder. Throws
// UsageError.
void take_output(const Given& given, Arguments& arguments);

}  // namespace cleave::cli
