// Finds input that is well-formed but that a stage refuses: bytes that other programs would read differently, and
// values that could be mistaken for something else.
#pragma once

#include <cstdint>
#include <span>

#include "cleave/fields.h"

namespace cleave {

// Throws InputError at the first backslash before a quote in a quoted field of the block.
void refuse_escaped_quotes(const RecordBlock& block, std::uint8_t quote);

// Whether the bytes contain a backslash before a quote, or end with a backslash. refuse_escaped_quotes() might refuse
// such bytes.
bool has_escaped_quote(std::span<const std::uint8_t> bytes, std::uint8_t quote) noexcept;

// Whether the value contains the string that begins the messages from which keys are derived (see stage/hasher.h),
// because its token could then be part of a key. Letter case and leading blanks are ignored, because `lower` and `trim`
// would remove them.
bool has_reserved_text(std::span<const std::uint8_t> value) noexcept;
constexpr const char* kReservedText =
    "a value has the byte 0xFF before \"cleave \", as what keys are derived from: it gets no token";

}  // namespace cleave
