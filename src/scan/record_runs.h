// Cuts an input into runs of whole records, in order, for readers of fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "cleave/dialect.h"
#include "cleave/error.h"
#include "cleave/input.h"
#include "cleave/kernel.h"
#include "cleave/meter.h"
#include "io/copy.h"
#include "io/sequential_reader.h"
#include "memory/value_buffer.h"
#include "scan/walker.h"

namespace cleave {

// Whole records, in memory that nobody else can change (see scan/private_bytes.h).
struct RecordRun {
    // `memory` is not null.
    explicit RecordRun(std::shared_ptr<MemoryManager> memory) : copy(std::move(memory)) {}

    std::span<const std::uint8_t> bytes;  // of `copy`
    Place place;
    bool is_cut = false;  // the beginning of a record that is too long, and nothing else
    ValueBuffer copy;
};

struct RunOptions {
    std::size_t size = 0;                             // about the size of a run
    std::uint64_t max_record = 0;                     // a longer record is cut
    Meter* meter = nullptr;                           // gets the bytes that are read
    std::shared_ptr<MemoryManager> memory = nullptr;  // of the runs; nullptr: a new manager "system"
};

// For one thread at a time. Reads by the anywhere rule or field-start, as the dialect says; where both readings differ,
// FieldReader refuses the run.
class RecordRuns {
public:
    // The records of the range, which begins and ends with a record; the first one is number `record`. A byte order
    // mark is not part of it.
    RecordRuns(Input& input, BlobRange range, std::uint64_t record, const Dialect& dialect, const Kernel& kernel,
               const RunOptions& options);
    // All records of an input from byte `skipped` on.
    RecordRuns(Input& input, Place skipped, const Dialect& dialect, const Kernel& kernel, const RunOptions& options);

    // Sets `run` to the next run. Returns false after the last one. A run may be cut: whoever reads its fields may find
    // a fault before the record is too long. Throws as SequentialReader::read() and read_bytes(), and InputError after
    // a run that was cut.
    bool next(RecordRun& run);
    // Throws InputError for a run that is cut.
    void require_whole(const RecordRun& run) const;
    // After the last run: the quote that is still open at the end.
    std::optional<Place> open_quote() const { return walker_.open_quote(); }

private:
    std::span<const std::uint8_t> read_on();
    bool next_of_stream(RecordRun& run);
    bool next_of_blob(RecordRun& run);
    bool is_too_long() const { return read_ - begin_.offset > options_.max_record; }

    Input& input_;
    RunOptions options_;
    Walker walker_;
    std::uint64_t end_;          // of the range; the largest offset for a stream
    std::uint64_t skipped_ = 0;  // bytes of a stream that are still to be skipped
    Place begin_;                // of the next run
    std::uint64_t read_;         // bytes before this offset were walked
    bool is_done_ = false;
    bool is_cut_ = false;                       // the last run
    std::unique_ptr<SequentialReader> reader_;  // of a stream
    std::span<const std::uint8_t> chunk_;       // what is left of its last read
    ValueBuffer carried_;                       // the record in progress
    std::size_t carried_size_ = 0;
};

}  // namespace cleave
