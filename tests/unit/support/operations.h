// Operations for tests: made from a text, and applied to values with every promise of operation.h checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stage/hasher.h"
#include "stage/key_names.h"
#include "stage/operation.h"

namespace cleave::test {

// `name`, or `name(argument, key=argument, key=name(...))`. An argument within `"` counts as quoted. Nothing is
// escaped.
OperationSyntax syntax_of(std::string_view text);

// The value that the operation makes; nothing for null. Expects that measure() tells the size, that it is within
// bound(), and that write() writes nothing behind it.
std::optional<std::string> applied(const Operation& operation, std::string_view text, Hasher& hasher);

// What an operation should make, by other means than the library's: slow and plain.
std::string mask_by_code_points(std::string_view value, std::uint64_t first, std::uint64_t last, char sign);
std::string email_by_search(std::string_view value);
std::optional<std::string> date_by_pattern(std::string_view value, std::size_t size);
// Divides and multiplies digits on paper. `width` has at most 18 digits.
std::optional<std::string> bucket_by_hand(std::string_view value, std::string_view width);

}  // namespace cleave::test
