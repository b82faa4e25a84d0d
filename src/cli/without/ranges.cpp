// In place of ranges and their plans.
#include "cli/feature_parts.h"
#include "cli/features.h"
#include "cli/option_groups.h"
#include "cli/verbs.h"

namespace cleave::cli {

void take_byte_range(const Given& /*given*/, Arguments& /*arguments*/) { refuse_without("ranges"); }

void take_range_plan(const Given& /*given*/, Arguments& /*arguments*/) {}

void take_planned_piece(const Given& /*given*/, Arguments& /*arguments*/) { refuse_without("ranges"); }

void print_planned_offsets(Context& /*context*/) { refuse_without("ranges"); }

void print_planned_piece(Context& /*context*/) { refuse_without("ranges"); }

void run_scan(Context& /*context*/) { refuse_without("ranges"); }

void run_plan(Context& /*context*/) { refuse_without("ranges"); }

}  // namespace cleave::cli
