// In place of devices.
#include "cli/feature_parts.h"
#include "cli/features.h"
#include "cli/verbs.h"

namespace cleave::cli {

void choose_device(Arguments& /*arguments*/) {}

void explain(const Arguments& /*arguments*/) {}

void describe_info(const Arguments& /*arguments*/, StandardOutput& /*out*/) { refuse_without("gpu"); }

}  // namespace cleave::cli
