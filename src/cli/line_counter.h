// Numbers of lines, for messages. A line ends with LF; with CR if records end with CR; with LF, CRLF and a lone CR if
// records may end with any of these. Line ends inside quotes count too.
#pragma once

#include <cstdint>
#include <vector>

#include "cleave/blob.h"
#include "cleave/dialect.h"

namespace cleave::cli {

// Reads the blob up to the place that is asked for; from the last place on, if the next one lies after it.
class LineCounter {
public:
    // `blob` must outlive the counter.
    LineCounter(const Blob& blob, Terminator terminator) : blob_(blob), terminator_(terminator) {}

    // The number of the line with the byte at `offset`, from 1. Throws as Blob::lend().
    std::uint64_t line_of(std::uint64_t offset);

private:
    const Blob& blob_;
    Terminator terminator_;
    std::vector<std::uint8_t> buffer_;
    std::uint64_t offset_ = 0;  // up to here lines have been counted
    std::uint64_t ends_ = 0;    // that many of them have ended
};

}  // namespace cleave::cli
