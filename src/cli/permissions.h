// What a run may open once its sandbox is closed.
#pragma once

#include <string>

#include "cli/context.h"
#include "cli/sandbox.h"

namespace cleave::cli {

// The files and folders that the verb reads and writes, as its arguments name them. Throws what PieceNamer throws.
Permissions permissions_of(const Context& context);

// The directory or, if it does not exist, its nearest existing ancestor.
std::string nearest_directory(std::string path);

}  // namespace cleave::cli
