// Where rules run: --device, --device-memory and --explain.
#pragma once

#include "cli/options.h"

namespace cleave::cli {

// Sets arguments.execution.offload if rules are to run on a device, or may. Under --device auto without a device, or
// without a profile of the machine, it stays null and a message says why. Throws std::runtime_error for a device that
// was named and is not there.
void choose_device(Arguments& arguments);

// What ran where, on standard error.
void explain(const Arguments& arguments);

}  // namespace cleave::cli
