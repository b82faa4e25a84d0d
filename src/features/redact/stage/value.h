// What operations can return besides the value itself.
#pragma once

#include <cstdint>

#include "rows/fields/value.h"

namespace cleave {

// The result of an operation's measure() and write() if the value becomes null. Nothing is written then.
constexpr std::uint64_t kBecomesNull = UINT64_MAX;
// The same if the value is refused: the run ends.
constexpr std::uint64_t kIsRefused = UINT64_MAX - 1;

}  // namespace cleave
