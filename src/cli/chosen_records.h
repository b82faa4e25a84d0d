// The records that cat -r and sample choose.
#pragma once

#include <cstdint>

#include "cleave/function_ref.h"
#include "cleave/input.h"
#include "cleave/scan.h"
#include "cli/context.h"
#include "cli/standard_output.h"
#include "core/reader/copy.h"

namespace cleave::cli {

// The start of the first requested record, and of the record after the last one. The header is not included.
struct RunBounds {
    Boundary begin;
    Boundary end;
};

// For cat -r.
RunBounds find_run(const RecordIndex& index, const RecordRange& wanted, std::uint64_t header_records);

// Sets where the last records begin, if they were requested. Remarks on a range that begins after the last record.
// `records` is how many records the input has, with the header.
void heed_range(Context& context, std::uint64_t records);

// For sample. Passes on the bounds of each drawn record, in the order of the input.
void draw(Context& context, const RecordIndex& index,
          FunctionRef<void(const Boundary& begin, const Boundary& end)> take);

// Prints ranges of an input on standard output. Small ranges are gathered; large ones are sent directly from the input.

// For use by one thread.
class RangePrinter {
public:
    // The input must be a blob, and outlive the printer.
    explicit RangePrinter(const Input& input) : input_(input), out_(input.cancellation()) {}

    // Adjacent ranges are printed as one. Throws what Blob::lend() throws, SystemError, Cancelled.
    void print(BlobRange range);
    // Prints what is still buffered.
    void flush();

private:
    void put();

    const Input& input_;
    StandardOutput out_;
    BlobRange waiting_{0, 0};
    std::vector<std::uint8_t> buffer_;
};

}  // namespace cleave::cli
