// Between the state machine and the kernels: converts states and carries, and finds the carry at an offset from the
// bytes before it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "cleave/dialect.h"
#include "dialect/state_machine.h"
#include "kernels/kernel.h"

namespace cleave {

Carry carry_of(State state);

// The state that a carry stands for. For the kernel an escape acts outside quotes too; here it does not if the scope is
// kQuoted.
State state_of(const Carry& carry, EscapeScope scope);

// Bytes before an offset that are enough for local_carry().
constexpr std::uint64_t kLookBack = 4097;

// The carry at `offset`, from the bytes before it; `inside` is left 0. Nothing if these bytes are a run of kLookBack -
// 1 escapes or more. `offset` > 0; the bytes before `begin` (a byte order mark) are ignored.
std::optional<Carry> local_carry(std::span<const std::uint8_t> bytes, std::uint64_t begin, std::uint64_t offset,
                                 const Dialect& dialect);

}  // namespace cleave
