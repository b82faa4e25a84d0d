// In place of several inputs.
#include "cli/feature_parts.h"
#include "cli/features.h"

namespace cleave::cli {

void take_several(const Given& /*given*/, Arguments& /*arguments*/) { refuse_without("inputs"); }

void list_inputs(Arguments& /*arguments*/) {}

void join_inputs(Context& /*context*/, OpenInput& /*opened*/) {}

}  // namespace cleave::cli
