// Connects the state machine and the kernels: converts between states and carries, and finds the carry at an offset
// from the bytes before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "cleave/dialect_rules.h"
#include "core/dialect/state_machine.h"
#include "core/kernels/kernel.h"

namespace cleave {

Carry carry_of(State state);

// The state that a carry stands for. In the kernel, an escape always acts outside quotes too; here it does not if the
// scope is kQuoted.
State state_of(const Carry& carry, EscapeScope scope);

// local_carry() needs at most this many bytes before the offset.
constexpr std::size_t kLookBack = 4097;

// The carry at `offset`, found from the bytes before it. `inside` is left at 0. Returns nothing if these bytes are a
// run of kLookBack - 1 or more escapes. `offset` must be above 0. Bytes before `begin` (a byte order mark) are ignored.
std::optional<Carry> local_carry(std::span<const std::uint8_t> bytes, std::size_t begin, std::size_t offset,
                                 const Dialect& dialect);

}  // namespace cleave
