// The records that cat -r and sample choose.
#pragma once

#include <cstdint>

#include "cleave/function_ref.h"
#include "cleave/scan.h"
#include "cli/context.h"

namespace cleave::cli {

// The start of the first requested record, and of the record after the last one. The header is not included.
struct RunBounds {
    Boundary begin;
    Boundary end;
};

// For cat -r.
RunBounds find_run(const RecordIndex& index, const RecordRange& wanted, std::uint64_t header_records);

// Remarks on a range that begins after the last record. `records` is how many records the input has, with the header.
void heed_range(Context& context, std::uint64_t records);

// For sample. Passes on the bounds of each drawn record, in the order of the input.
void draw(Context& context, const RecordIndex& index,
          FunctionRef<void(const Boundary& begin, const Boundary& end)> take);

}  // namespace cleave::cli
