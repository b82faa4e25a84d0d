// The columns of an indexed input.
#pragma once

#include "cleave/scan.h"
#include "stage/rules.h"

namespace cleave {

// By the first record that is not empty. The locator is one of the index. Throws InputError where the record is
// malformed, InputChangedError.
InputColumns columns_of(const RecordIndex& index, Locator& locator, bool has_header);

}  // namespace cleave
