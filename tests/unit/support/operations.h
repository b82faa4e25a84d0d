// Operations for tests: parsed from their text, and applied to values while every promise of operation.h is checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "features/redact/stage/hasher.h"
#include "features/redact/stage/key_names.h"
#include "features/redact/stage/operation.h"

namespace cleave::test {

// Parses `name` or `name(argument, key=argument, key=name(...))`. An argument in double quotes counts as quoted. There
// are no escapes.
OperationSyntax syntax_of(std::string_view text);

// The value that the operation, which is no CpuOperation, produces; nothing for null. Expects measure() to give the
// exact size, the size to be within bound(), and write() to write nothing past it.
std::optional<std::string> applied(const Operation& operation, std::string_view text, Hasher& hasher);

// What an operation should produce, worked out slowly and simply, without the library.
std::string mask_by_code_points(std::string_view value, std::uint64_t first, std::uint64_t last, char sign);
std::string email_by_search(std::string_view value);
std::optional<std::string> date_by_pattern(std::string_view value, std::size_t size);
// Divides and multiplies decimal digits. `width` has at most 18 digits.
std::optional<std::string> bucket_by_hand(std::string_view value, std::string_view width);

}  // namespace cleave::test
