// The options of scan, and those for --plan.
#pragma once

#include "cli/given.h"
#include "cli/options.h"

namespace cleave::cli {

// All of these throw UsageError.

// The range and the input of scan. Call once the dialect is known.
void take_byte_range(const Given& given, Arguments& arguments);

// --plan in offsets and cat. Rejects options that the plan determines.
void take_range_plan(const Given& given, Arguments& arguments);

// -n in cat with --plan: "3" or "3/8".
void take_planned_piece(const Given& given, Arguments& arguments);

}  // namespace cleave::cli
