// Where rules run: --device, --device-memory and --explain.
#pragma once

#include "cli/options.h"

namespace cleave::cli {

// Sets arguments.execution.offload if rules will or may run on a device. Under --device auto, if there is no device or
// no profile of the machine, it stays null and a message says why. Throws std::runtime_error if a named device is
// missing.
void choose_device(Arguments& arguments);

// Prints on standard error what ran where.
void explain(const Arguments& arguments);

}  // namespace cleave::cli
