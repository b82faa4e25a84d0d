// The verbs. Each does its work for parsed arguments and returns the exit code; errors are thrown.
#pragma once

#include "cleave/cancel.h"
#include "cli/session.h"

namespace cleave::cli {

int run_split(Context& context, const Cancellation& cancellation);
int run_offsets(Context& context);
int run_cat(Context& context);
int run_count(Context& context);
int run_check(Context& context);

}  // namespace cleave::cli
