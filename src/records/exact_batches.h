// Cuts an input into batches of whole records, in order: whoever reads them knows the number of each record.
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
#include "io/sequential_reader.h"
#include "memory/value_buffer.h"
#include "records/batch.h"
#include "scan/walker.h"

namespace cleave {

// For one thread at a time. Reads by the anywhere rule or field-start, as the dialect says; where both readings differ,
// FieldReader refuses the batch.
class ExactBatches {
public:
    // The records of the range, which begins and ends with a record; the first one is number `record`. A byte order
    // mark is not part of it.
    ExactBatches(const Blob& blob, BlobRange range, std::uint64_t record, const Dialect& dialect, const Kernel& kernel,
                 const BatchOptions& options);
    // All records of a stream from byte `skipped` on.
    ExactBatches(Input& stream, Place skipped, const Dialect& dialect, const Kernel& kernel,
                 const BatchOptions& options);

    // Sets `batch` to the next batch. Returns false after the last one. A batch may be cut: whoever reads its fields
    // may find a fault before the record is too long. Throws as SequentialReader::read() and read_bytes(), and
    // InputError after a batch that was cut.
    bool next(OwnedBatch& batch);
    // Throws InputError for a batch that is cut.
    void require_whole(const Batch& batch) const;
    // After the last batch: the quote that is still open at the end.
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
    std::uint64_t end_;          // of the range; the largest offset for a stream
    std::uint64_t skipped_ = 0;  // bytes of a stream that are still to be skipped
    Place begin_;                // of the next batch
    std::uint64_t read_;         // bytes before this offset were walked
    bool is_done_ = false;
    bool is_cut_ = false;                       // the last batch
    std::unique_ptr<SequentialReader> reader_;  // of a stream
    std::span<const std::uint8_t> chunk_;       // what is left of its last read
    ValueBuffer carried_;                       // the record in progress
    std::size_t carried_size_ = 0;
};

}  // namespace cleave
