// What cleave check does with rules and columns.
#pragma once

#include <string>

#include "cli/context.h"
#include "cli/standard_output.h"

namespace cleave::cli {

// Applies the rules to all records and prints what they did, and no value. Returns whether nothing forbidden was found.
bool check_rules(Context& context, OpenInput& opened, StandardOutput& out);

// Prints number and name of each column, or a file of rules to start from.
void print_columns(const Context& context, OpenInput& opened, StandardOutput& out);
void print_template(const Context& context, OpenInput& opened, StandardOutput& out);

}  // namespace cleave::cli
