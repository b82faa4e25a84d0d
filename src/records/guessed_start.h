// Guesses where a record starts, so that several threads read records without a scan before them. A guess decides
// nothing, so it may look at a mapping that others write to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cleave/dialect.h"
#include "scan/walker.h"

namespace cleave {

// So many bytes before `from` decide a guess, and so many from there on, or search + 1 if those are more. So a part of
// the input that has them is guessed as the whole input is.
inline constexpr std::size_t kGuessBehind = 2050;
inline constexpr std::size_t kGuessAhead = (std::size_t{16} << 10) + 1;

// The first record start in [from, from + search) that is found in `bytes`, which begin and end with a record. If none
// is found, the end of that range: a record starts there only by chance. It never lies between a CR and an LF that are
// one line end, because it would look like a start there. 0 < from < bytes.size().
std::size_t guessed_start(std::span<const std::uint8_t> bytes, std::size_t from, std::size_t search,
                          const Dialect& dialect, Walker& walker);

}  // namespace cleave
