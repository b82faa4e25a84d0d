// What operations can return besides the value itself, and the base of those that run on the processor alone.
#pragma once

#include <cstdint>

#include "rows/fields/value.h"

namespace cleave {

// The result of an operation's measure() and write() if the value becomes null. Nothing is written then.
constexpr std::uint64_t kBecomesNull = UINT64_MAX;
// The same if the value is refused: the run ends.
constexpr std::uint64_t kIsRefused = UINT64_MAX - 1;

// The base of operations that need more than a value and a hash. Their members are functions that are compiled once,
// with an OperationContext in place of a hasher.
struct CpuOperation {};
struct OperationContext;

}  // namespace cleave
