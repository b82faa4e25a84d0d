// What a run may open once its sandbox is closed.
#pragma once

#include "cli/options.h"
#include "cli/sandbox.h"
#include "store/store.h"

namespace cleave::cli {

// The files and folders that the verb reads and writes, as its arguments name them. Throws what PieceNamer throws.
// `store` is null if no input is in one.
Permissions permissions_of(const Arguments& arguments, const Store* store);

}  // namespace cleave::cli
