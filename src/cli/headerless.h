// Whether an input that should have a header seems to have none.
#pragma once

#include <cstdint>
#include <span>

#include "cleave/dialect.h"

namespace cleave::cli {

// Whether the first record of an input that begins with `head` looks like the records after it in several columns:
// numbers, dates or addresses. Years, and numbers that count, may well be names of columns.
bool seems_headerless(std::span<const std::uint8_t> head, const Dialect& dialect);

}  // namespace cleave::cli
