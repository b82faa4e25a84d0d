// A mutator for inputs that end in a CSV text: it copies, moves and removes whole records and fields, and puts quotes
// around them or takes them away, each of which would take many changes of single bytes.
#pragma once

#include <cstdint>
#include <span>

#include "cleave/dialect.h"

namespace cleave::test {

// As LLVMFuzzerCustomMutator: changes the first `size` bytes of `room`, and returns how many there are now. The choices
// before `text_at` stay as they are, unless it is libFuzzer that changes the input: every second time, and where there
// is no text. The same arguments always give the same result.
std::size_t mutate_csv(std::span<std::uint8_t> room, std::size_t size, unsigned seed, std::size_t text_at,
                       const Dialect& dialect);

}  // namespace cleave::test
