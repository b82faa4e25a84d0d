// The parts of `cleave check` that deal with rules and columns.
#pragma once

#include <string>

#include "cli/context.h"
#include "cli/standard_output.h"

namespace cleave::cli {

// Applies the rules to all records and prints what they did, but no values. Returns false if it found forbidden values.
bool check_rules(Context& context, OpenInput& opened, StandardOutput& out);

// Prints the number and name of each column, or a starter file of rules.
void print_columns(const Context& context, OpenInput& opened, StandardOutput& out);
void print_template(const Context& context, OpenInput& opened, StandardOutput& out);

}  // namespace cleave::cli
