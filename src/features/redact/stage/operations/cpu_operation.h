// The base of operations that run on the processor alone, because they need more than a value and a hash. Their members
// are functions that are compiled once, with an OperationContext in place of a hasher.
#pragma once

namespace cleave {

struct CpuOperation {};
struct OperationContext;

}  // namespace cleave
