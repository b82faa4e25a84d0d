// Paths to values in JSON, such as .user.country, .items[0].id or .messages[].content.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "rows/fields/rule_scanner.h"

namespace cleave {

// Each element of an array.
struct JsonEach {
    bool operator==(const JsonEach&) const = default;
};

// From the outermost value to the innermost: the name of a member of an object, or the index of an element of an array,
// from 0, or all of its elements. Without a step, the path leads to the text as a whole.
using JsonStep = std::variant<std::string, std::uint64_t, JsonEach>;
using JsonPath = std::vector<JsonStep>;

// kManyValues also allows [], and a ? may follow the path.
enum class JsonPathSyntax : std::uint8_t { kOneValue, kManyValues };

// Takes a path; json_path.cpp has the grammar. Throws RuleError.
JsonPath parse_json_path(RuleScanner& scanner, JsonPathSyntax syntax);

// The path as a user would type it. Equal paths have the same text, whatever was in quotes.
std::string json_path_text(const JsonPath& path);

}  // namespace cleave
