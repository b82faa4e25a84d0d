// The fields of a text, read by the letter of doc/design.md, "What a record is", a byte at a time. Shares no code with
// the library.
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
    std::vector<std::uint32_t> ends;  // the byte after each field
    std::uint32_t content_end = 0;    // where the terminator begins, its CR included

    bool operator==(const ReferenceRecord&) const = default;
};

struct FieldReading {
    std::vector<ReferenceRecord> records;
    // The first byte at which readers may differ: stray quotes, text after a closing quote, lone line ends, an
    // escape at the end, and the quote that is never closed. A lone CR is at the CR.
    std::optional<std::uint32_t> fault;
};

// The dialect has no fault.
FieldReading read_fields(std::string_view text, const Dialect& dialect);

// Field `number` of a record of the text, quotes included. The record has it.
std::string_view field_of(std::string_view text, const ReferenceRecord& record, std::size_t number);

// What a reader gets of a field: without the quotes and escapes that act, wherever they stand.
std::string value_of(std::string_view field, const Dialect& dialect);

// Column `number` of the records: nothing where a record has no such field; for empty records, unless every record has
// one field, as `fields` says; and with `empty_is_null` for fields without a byte.
std::vector<std::optional<std::string>> read_column(std::string_view text, const std::vector<ReferenceRecord>& records,
                                                    const Dialect& dialect, std::size_t number, std::size_t fields,
                                                    bool empty_is_null);

}  // namespace cleave::test
