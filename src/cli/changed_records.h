// What cat and sample print under rules. The feature `redact` defines it; a build without it has without/redact.cpp.
#pragma once

#include "cli/context.h"

namespace cleave::cli {

// Print the records that the rules produce. Apply the rules even if they change nothing, because a user who names
// columns must hear about a record that has different columns. Throw what Rewriting throws.
void print_changed_records(Context& context, OpenInput& opened);
void print_changed_sample(Context& context, OpenInput& opened);

}  // namespace cleave::cli
