// The options of scan, and of --plan.
#pragma once

#include "cli/given.h"
#include "cli/options.h"

namespace cleave::cli {

// All throw UsageError.

// Of scan: the range and its input. To be called when the dialect is known.
void take_byte_range(const Given& given, Arguments& arguments);

// --plan of offsets and cat. Refuses what the plan decides.
void take_range_plan(const Given& given, Arguments& arguments);

// -n of cat with --plan: "3" or "3/8".
void take_planned_piece(const Given& given, Arguments& arguments);

}  // namespace cleave::cli
