// The columns of an indexed input.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cleave/error.h"
#include "cleave/scan.h"
#include "stage/rules.h"

namespace cleave {

// The record that has the names of the columns, or without a header the first one that is not empty.
struct FirstRecord {
    std::vector<std::uint8_t> bytes;  // without a byte order mark
    Place place;
};

// None for an input without bytes. The locator is one of the index. Throws InputError for a record that is too long,
// InputChangedError.
std::optional<FirstRecord> first_record_of(const RecordIndex& index, Locator& locator);

// By that record, read as the dialect says: only rules refuse what readers may read differently. No columns for an
// input without bytes, or whose only record is an empty one where the header belongs. `is_header_given` is set if the
// dialect has no header. Throws as above.
InputColumns columns_of(const RecordIndex& index, Locator& locator, bool has_header);

}  // namespace cleave
