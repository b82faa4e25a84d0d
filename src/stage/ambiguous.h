// What a stage refuses although it is well-formed: bytes that others would read differently, and values that would be
// taken for something else.
#pragma once

#include <cstdint>
#include <span>

#include "cleave/fields.h"

namespace cleave {

// Throws InputError for the first backslash that stands before a quote in a quoted field of the block.
void refuse_escaped_quotes(const RecordBlock& block, std::uint8_t quote);

// Whether a backslash stands before a quote, or as the last byte: what refuse_escaped_quotes() might refuse.
bool has_escaped_quote(std::span<const std::uint8_t> bytes, std::uint8_t quote) noexcept;

// Whether the value has what the messages begin with that keys are derived from (see stage/hasher.h): its token could
// be part of a key. Letters count in either case, and blanks before it do not matter: `lower` and `trim` remove them.
bool has_reserved_text(std::span<const std::uint8_t> value) noexcept;

}  // namespace cleave
