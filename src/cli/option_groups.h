// What the options of each group mean: each function takes the values of its group out of what was given. All throw
// UsageError.
#pragma once

#include "cli/given.h"
#include "cli/options.h"

namespace cleave::cli {

void take_dialect(const Given& given, Arguments& arguments);

// -o, --manifest, --compress, --filter, --format and others. The policy and the clone mode in `arguments` must be set
// already. Checks whether -o names a folder.
void take_output(const Given& given, Arguments& arguments);

// Which columns to select, and what to redact. Reads the files given with --rules. Also throws SystemError for a file
// that cannot be read.
void take_stage(const Given& given, Arguments& arguments);

// The range and the input of scan. Call once the dialect is known.
void take_byte_range(const Given& given, Arguments& arguments);

// --plan in offsets and cat. Rejects options that the plan determines.
void take_range_plan(const Given& given, Arguments& arguments);

// -n in cat with --plan: "3" or "3/8".
void take_planned_piece(const Given& given, Arguments& arguments);

}  // namespace cleave::cli
