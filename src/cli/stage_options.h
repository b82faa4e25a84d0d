// The options for changing records: which columns to select, and what to redact.
#pragma once

#include "cli/given.h"
#include "cli/options.h"

namespace cleave::cli {

// Reads the files given with --rules. Throws UsageError, and SystemError for a file that cannot be read.
void take_stage(const Given& given, Arguments& arguments);

}  // namespace cleave::cli
