// In place of rejects.
#include "cli/feature_parts.h"
#include "cli/features.h"

namespace cleave::cli {

void take_rejects(const Given& /*given*/, Arguments& /*arguments*/) {}

void print_rejected(Context& /*context*/) { refuse_without("rejects"); }

}  // namespace cleave::cli
