// Cuts an input into batches of whole records, in order, so that each record's number is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "cleave/blob.h"
#include "cleave/dialect.h"
#include "cleave/error.h"
#include "cleave/input.h"
#include "cleave/kernel.h"
#include "core/reader/sequential_reader.h"
#include "core/scan/walker.h"
#include "rows/memory/value_buffer.h"
#include "rows/records/batch.h"

namespace cleave {

// Use from one thread at a time. Reads in the dialect's quote mode; where the two modes differ, FieldReader rejects the
// batch.
class ExactBatches {
public:
    // Reads the records of the range, which begins and ends at record boundaries and whose first record is number
    // `record`. The range must not contain a byte order mark.
    ExactBatches(const Blob& blob, BlobRange range, std::uint64_t record, const Dialect& dialect, const Kernel& kernel,
                 const BatchOptions& options);
    // Reads all records of a stream that begin at or after `skipped`.
    ExactBatches(Input& stream, Place skipped, const Dialect& dialect, const Kernel& kernel,
                 const BatchOptions& options);

    // Sets `batch` to the next batch. Returns false after the last one. If a record is too long, its beginning is still
    // returned as a cut batch, because its fields may already show a fault. After a cut batch, throws InputError. Also
    // throws what SequentialReader::read() and Blob::read() throw.
    bool next(OwnedBatch& batch);
    // Throws InputError if the batch is cut.
    void require_whole(const Batch& batch) const;
    // After the last batch: the quote that is still open at the end, if any.
    std::optional<Place> open_quote() const { return walker_.open_quote(); }

private:
    std::span<const std::uint8_t> read_on();
    std::size_t take_carried(OwnedBatch& batch);
    bool next_of_stream(OwnedBatch& batch);
    bool next_of_blob(OwnedBatch& batch);
    bool is_too_long() const { return read_ - begin_.offset > options_.max_record; }

    const Blob* blob_;  // null: a stream
    BatchOptions options_;
    Walker walker_;
    std::uint64_t end_;          // the end of the range; for a stream, the largest offset
    std::uint64_t skipped_ = 0;  // bytes of a stream that have yet to be skipped
    Place begin_;                // where the next batch begins
    std::uint64_t read_;         // the bytes before this offset have been walked
    bool is_done_ = false;
    bool is_cut_ = false;                       // the latest batch was cut
    std::unique_ptr<SequentialReader> reader_;  // only for a stream
    std::span<const std::uint8_t> chunk_;       // what is left of the reader's last read
    ValueBuffer carried_;                       // the record in progress
    std::size_t carried_size_ = 0;
};

}  // namespace cleave
