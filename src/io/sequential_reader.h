// An input read once, from the front: a stream as it comes, a blob in parts. Knows no CSV.
//
// A file that does not fit into memory is best read in small parts into one buffer. Each part is written out while it
// is still in the processor's cache. In a control group of 256 MiB such a loop took the time of cp. Writing from the
// mapping beside a thread that reads ahead took twice as long: the system has to find and unmap pages that are in use.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cleave/input.h"
#include "cleave/meter.h"

namespace cleave {

// For one thread. The input must outlive it.
class SequentialReader {
public:
    // `meter`, if any, gets the number of bytes that were read of the file. Throws std::bad_alloc.
    SequentialReader(Input& input, Meter* meter);

    // The next bytes; none at the end. Valid until the next call. Throws as Input::read(); for a mapped input
    // Cancelled, std::system_error, and InputChangedError if the file has become shorter.
    std::span<const std::uint8_t> read();

private:
    std::span<const std::uint8_t> read_blob();

    Input& input_;
    Meter* meter_;
    std::vector<std::uint8_t> buffer_;  // for a blob
    std::uint64_t offset_ = 0;          // up to here a blob was read
};

}  // namespace cleave
