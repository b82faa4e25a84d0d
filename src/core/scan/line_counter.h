// Line numbers for messages. A line ends with LF; with CR if records end with CR; with LF, CRLF or a lone CR if records
// may end with any of these. Line ends inside quotes count, too.
#pragma once

#include <cstdint>
#include <vector>

#include "cleave/blob.h"
#include "cleave/dialect.h"

namespace cleave {

// Reads the blob up to the requested offset, resuming from the previous one if that does not come later.
class LineCounter {
public:
    // `blob` must outlive the counter.
    LineCounter(const Blob& blob, Terminator terminator) : blob_(blob), terminator_(terminator) {}

    // The number, from 1, of the line that contains the byte at `offset`. Throws what Blob::lend() throws.
    std::uint64_t line_of(std::uint64_t offset);

private:
    const Blob& blob_;
    Terminator terminator_;
    std::vector<std::uint8_t> buffer_;
    std::uint64_t offset_ = 0;  // lines have been counted up to here
    std::uint64_t ends_ = 0;    // the number of line ends so far
};

}  // namespace cleave
