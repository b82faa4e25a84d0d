// Between the state machine and the kernels: the true state as a kernel's carry, and the carry that the bytes before an
// offset give away by themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "cleave/dialect.h"
#include "dialect/state_machine.h"
#include "kernels/kernel.h"

namespace cleave {

Carry carry_of(State state);

// The state that a carry stands for. An escape that the kernel thinks acting outside quotes does not act there if the
// scope is kQuoted.
State state_of(const Carry& carry, EscapeScope scope);

// Bytes before an offset that are enough for local_carry().
constexpr std::uint64_t kLookBack = 4097;

// The carry at `offset` as far as the bytes before it tell: `inside` is left 0. Nothing if they are a run of escapes
// too long to look through. `offset` > 0; the bytes before `begin` (a byte order mark) do not count.
std::optional<Carry> local_carry(std::span<const std::uint8_t> bytes, std::uint64_t begin, std::uint64_t offset,
                                 const Dialect& dialect);

}  // namespace cleave
