// Reads the fields of a text a byte at a time, exactly as doc/internals/design.md, "What a record is", specifies.
// Shares no code with the library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cleave/dialect.h"

namespace cleave::test {

struct ReferenceRecord {
    std::uint32_t begin = 0;
    std::vector<std::uint32_t> ends;  // the offset just past each field
    std::uint32_t content_end = 0;    // where the terminator begins, including its CR

    bool operator==(const ReferenceRecord&) const = default;
};

struct FieldReading {
    std::vector<ReferenceRecord> records;
    // The first byte at which readers may differ: a stray quote, text after a closing quote, a lone line end (for a
    // lone CR, the CR), an escape at the end, or a quote that is never closed.
    std::optional<std::uint32_t> fault;
};

// The dialect must be valid.
FieldReading read_fields(std::string_view text, const Dialect& dialect);

// Field `number` of a record of the text, quotes included. The record must have that field.
std::string_view field_of(std::string_view text, const ReferenceRecord& record, std::size_t number);

// The value of a field, as a reader sees it: without the quotes and escapes that take effect, wherever they occur.
std::string value_of(std::string_view field, const Dialect& dialect);

// Column `number` of the records. A value is missing if the record has no such field or is empty and, with
// `empty_is_null`, if the field has no bytes.
std::vector<std::optional<std::string>> read_column(std::string_view text, const std::vector<ReferenceRecord>& records,
                                                    const Dialect& dialect, std::size_t number, bool empty_is_null);

}  // namespace cleave::test
