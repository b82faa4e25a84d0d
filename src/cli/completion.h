// Completion scripts for shells, made from the option table.
#pragma once

#include <string>

#include "cli/options.h"

namespace cleave::cli {

// The script to be sourced, or installed where the shell looks for completions. The same on every machine.
std::string completion_script(Shell shell);

}  // namespace cleave::cli
