// In place of rejects.
#include "cli/feature_parts.h"
#include "cli/features.h"

namespace cleave::cli {

void take_rejects(const Given& /*given*/, Arguments& /*arguments*/) {}

void take_rejects_of_join(const Given& /*given*/, Arguments& /*arguments*/) {}

RejectedRecords open_rejected(Context& /*context*/) { refuse_without("rejects"); }

void print_rejected(Context& /*context*/) { refuse_without("rejects"); }

}  // namespace cleave::cli
