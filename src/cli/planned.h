// offsets and cat with --plan. The feature `ranges` defines it; a build without it has without/ranges.cpp.
#pragma once

#include "cli/context.h"

namespace cleave::cli {

// Read only what it takes to find the cuts, and the piece. Throw what with_input() and find_cuts() throw.
void print_planned_offsets(Context& context);
void print_planned_piece(Context& context);

}  // namespace cleave::cli
