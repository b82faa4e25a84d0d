// Guesses where a record starts, so that several threads can read records without scanning first. No result depends on
// a guess, so it may read a mapping that other processes write to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cleave/dialect.h"
#include "core/scan/walker.h"

namespace cleave {

// A guess depends on kGuessBehind bytes before `from` and on the bytes from `from` on: kGuessAhead of them, or search +
// 1 if that is more. So a part of the input that contains these bytes gives the same guess as the whole input.
inline constexpr std::size_t kGuessBehind = 2050;
inline constexpr std::size_t kGuessAhead = (std::size_t{16} << 10) + 1;

// Returns the first record start that is found in [from, from + search). If none is found, returns the end of that
// range, where a record starts only by chance. That end is never between the CR and the LF of one line break, because
// there it would look like a record start. `bytes` must begin and end at record boundaries, and 0 < from <
// bytes.size().
std::size_t guessed_start(std::span<const std::uint8_t> bytes, std::size_t from, std::size_t search,
                          const Dialect& dialect, Walker& walker);

}  // namespace cleave
