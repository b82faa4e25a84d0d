// A mutator for inputs that end in a CSV text. It copies, moves and removes whole records and fields, and adds or
// removes quotes around them; each of these would take many single-byte changes.
#pragma once

#include <cstdint>
#include <span>

#include "cleave/dialect.h"

namespace cleave::test {

// For LLVMFuzzerCustomMutator: changes the first `size` bytes of `room` and returns the new size. Half of the time, and
// always if the input has no text, libFuzzer changes the input; otherwise the choices before `text_at` are left
// unchanged. The same arguments always give the same result.
std::size_t mutate_csv(std::span<std::uint8_t> room, std::size_t size, unsigned seed, std::size_t text_at,
                       const Dialect& dialect);

}  // namespace cleave::test
