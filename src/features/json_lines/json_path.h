// A path to a value in a JSON text, such as .user.country or .items[0].id, and the search for that value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json_scan.h"

namespace cleave {

// From the outermost value to the innermost: the key of an object, or the index of an array's element, from 0. Without
// a step, the path leads to the text as a whole.
using JsonStep = std::variant<std::string, std::uint64_t>;
using JsonPath = std::vector<JsonStep>;

// The value at a path. If a key occurs more than once in an object, its last value counts.
struct JsonFound {
    std::optional<JsonFault> fault;  // the text is not JSON; then the rest does not count
    std::optional<JsonKind> kind;    // no value if the path leads nowhere
    JsonBytes bytes;                 // the value; only the opening bracket of an object or array
};

// Searches the text in [at, end). Reads all of it, because only then is it known to be JSON.
JsonFound find_json(const JsonPath& path, const std::uint8_t* at, const std::uint8_t* end);

}  // namespace cleave
