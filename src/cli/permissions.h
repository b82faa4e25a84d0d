// What a run may open once its sandbox is closed.
#pragma once

#include "cli/options.h"
#include "cli/sandbox.h"
#include "features/stores/store.h"

namespace cleave::cli {

// The files and folders that the verb reads and writes, as its arguments name them. Throws what PieceNamer throws.
// `stores` are those of all its URLs.
Permissions permissions_of(const Arguments& arguments, const Stores& stores);

}  // namespace cleave::cli
