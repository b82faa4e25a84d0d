// Cuts a blob, read in order, into runs of whole records by guessing where the last record of each run starts, so that
// nobody walks the bytes before the fields of a run are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "cleave/dialect.h"
#include "cleave/input.h"
#include "cleave/kernel.h"
#include "memory/value_buffer.h"
#include "scan/record_runs.h"
#include "scan/walker.h"

namespace cleave {

// For one thread at a time. Runs are sound, or not, as those of GuessedRuns.
class GuessedReads {
public:
    // The range begins and ends with a record. The input is a blob. Of the options, `size` and `memory` count.
    GuessedReads(Input& input, BlobRange range, const Dialect& dialect, const Kernel& kernel,
                 const RunOptions& options);

    // Sets the bytes of `run` and their offset, not the number of its record. Returns false after the last run. Throws
    // as read_bytes().
    bool next(RecordRun& run);

private:
    std::span<const std::uint8_t> read_on(RecordRun& run);
    std::size_t size_of_records(std::span<const std::uint8_t> bytes);

    Input& input_;
    const Dialect dialect_;
    const std::size_t size_;
    std::uint64_t begin_;  // of the next run
    const std::uint64_t end_;
    Walker walker_;
    ValueBuffer carried_;  // the bytes from begin_ on that were read already
    std::size_t carried_size_ = 0;
};

}  // namespace cleave
