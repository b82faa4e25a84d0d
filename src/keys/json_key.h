// The key of a line of JSON: the syntax of the path that names it, and its value.
//
//   path    the simple part of jq's: .a.b, ."a key, in quotes", .a[0] for the first element of an array, and . for the
//           whole line. A quote inside quotes is doubled, as in the names of columns.
//   value   a string: its text. A number, true and false: as they are written. null, a value that is not there, and a
//           blank line: the empty value. An object or an array: none; that is a fault in the input.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cleave/fields.h"
#include "fields/value.h"
#include "keys/json_path.h"
#include "stage/rule_scanner.h"

namespace cleave {

// Takes a path. Throws RuleError.
JsonPath parse_json_path(RuleScanner& scanner);

// Returns the bytes of the value in record `record` of the block, a string with its quotes. They are empty for the
// empty value. `name` is the path, for messages. Throws InputError if the record is not JSON, or for an object or an
// array.
Value raw_json_value(const JsonPath& path, const std::string& name, const RecordBlock& block, std::size_t record);

// As FieldDecoder::view() and write(), for what raw_json_value() returns.
bool view_json_value(Value raw, Value& value);
std::uint64_t write_json_value(Value raw, std::uint8_t* out);

}  // namespace cleave
