// What a run may open once its sandbox is closed.
#pragma once

#include <span>

#include "cli/options.h"
#include "cli/sandbox.h"
#include "store/store.h"

namespace cleave::cli {

// The files and folders that the verb reads and writes, as its arguments name them. Throws what PieceNamer throws.
// `stores` are those that inputs and pieces are in.
Permissions permissions_of(const Arguments& arguments, std::span<const Store* const> stores);

}  // namespace cleave::cli
