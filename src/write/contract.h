// The checks of what callers of the library hand to the functions of cleave/split.h.
#pragma once

#include <cstdint>
#include <span>

#include "cleave/split.h"

namespace cleave {

// Both throw std::invalid_argument. For plans of inputs that are no streams:
void check(const Input& input, std::span<const Piece> pieces, std::uint64_t header_size);
void check(const SplitOptions& options);

}  // namespace cleave
