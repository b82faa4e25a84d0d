// Shell completion scripts, generated from the option table.
#pragma once

#include <string>

#include "cli/options.h"

namespace cleave::cli {

// The script to source, or to install where the shell looks for completions. It is the same on every machine.
std::string completion_script(Shell shell);

}  // namespace cleave::cli
