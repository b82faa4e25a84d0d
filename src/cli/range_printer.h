// Prints ranges of an input on standard output. Small ranges are gathered; large ones are sent directly from the input.
#pragma once

#include "cleave/input.h"
#include "cli/standard_output.h"
#include "core/reader/copy.h"

namespace cleave::cli {

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
