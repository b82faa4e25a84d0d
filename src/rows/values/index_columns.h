// Finds the columns of an indexed input.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cleave/error.h"
#include "cleave/scan.h"
#include "rows/fields/columns.h"

namespace cleave {

// The record with the column names. Without a header, the first record that is not empty.
struct FirstRecord {
    std::vector<std::uint8_t> bytes;  // without a byte order mark
    Place place;
};

// Returns nothing if the input has no bytes. The locator must belong to the index. Throws InputError for a record that
// is too long, and InputChangedError.
std::optional<FirstRecord> first_record_of(const RecordIndex& index, Locator& locator);

// The columns of a record, read as the dialect says; none in JSON Lines. Sets `is_header_given` if the dialect has no
// header, and `are_paths`.
InputColumns columns_of_record(std::span<const std::uint8_t> record, const Dialect& dialect, bool has_header);

// Returns the columns of that record, read as the dialect says. Records that readers may read differently are not
// rejected here; only rules reject them. There are no columns if the input has no bytes, or if its only record is empty
// and takes the place of the header, or if it is JSON Lines. Sets `is_header_given` if the dialect has no header, and
// `are_paths`. Throws like first_record_of().
InputColumns columns_of(const RecordIndex& index, Locator& locator, bool has_header);

}  // namespace cleave
