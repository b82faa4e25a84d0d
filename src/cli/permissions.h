// What a run may open once its sandbox is closed.
#pragma once

#include "cli/options.h"
#include "cli/sandbox.h"

namespace cleave::cli {

// The files and folders that the verb reads and writes, as its arguments name them. Throws what PieceNamer throws.
Permissions permissions_of(const Arguments& arguments);

}  // namespace cleave::cli
