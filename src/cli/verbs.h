// The verbs. Each does its work for parsed arguments; errors are thrown.
#pragma once

#include "cleave/cancel.h"
#include "cli/output.h"
#include "cli/session.h"

namespace cleave::cli {

void run_split(Context& context, const Cancellation& cancellation);
void run_offsets(Context& context);
void run_cat(Context& context);

// Verbs of many inputs, which fail one by one. `out` is flushed.

// Prints and returns the number of records.
std::uint64_t count_input(Context& context, const std::string& path, StandardOutput& out);
// Prints a report and returns whether the input is sound.
bool check_input(Context& context, const std::string& path, StandardOutput& out);

}  // namespace cleave::cli
