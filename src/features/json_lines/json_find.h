// Searches a JSON text for the value at a path.
#pragma once

#include <cstdint>
#include <optional>

#include "base/json_scan.h"
#include "rows/fields/json_path.h"

namespace cleave {

// The value at a path. If a key occurs more than once in an object, its last value counts.
struct JsonFound {
    std::optional<JsonFault> fault;  // the text is not JSON; then the rest does not count
    std::optional<JsonKind> kind;    // no value if the path leads nowhere
    JsonBytes bytes;                 // the value; only the opening bracket of an object or array
};

// Searches the text in [at, end) for the value at a path without []. Reads all of it, because only then is it known to
// be JSON.
JsonFound find_json(const JsonPath& path, const std::uint8_t* at, const std::uint8_t* end);

}  // namespace cleave
