// Cuts a range of a blob into batches of whole records by guessing where records start, so that several threads read
// records side by side, without a scan before them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "cleave/blob.h"
#include "cleave/dialect.h"
#include "io/read_ahead.h"
#include "records/batch.h"
#include "scan/walker.h"

namespace cleave {

// How a file is read. Where SIGBUS must not come, as in a process of somebody else's, not from its mapping.
enum class BatchAccess : std::uint8_t { kMapping, kFile };

class GuessedBatches {
public:
    // `range` of the blob begins and ends with a record. `blob` must outlive this object. Of the options, only the
    // size counts.
    GuessedBatches(const Blob& blob, BlobRange range, const Dialect& dialect, BatchAccess access,
                   const BatchOptions& options);

    // Sets the number of the next batch. Returns false after the last one. One thread at a time.
    bool next(OwnedBatch& batch);
    // Finds the batch of that number and copies it. Any thread, with a walker of its own. Throws DoubtfulBatch for one
    // that would end before it begins, and as copy_bytes(), MemoryError.
    void fill(OwnedBatch& batch, Walker& walker);
    // The same, but a batch of a mapping stays there: others may still write to its bytes.
    void find(OwnedBatch& batch, Walker& walker);
    // How many of `threads` threads are left for batches: one may be reading ahead.
    unsigned readers(unsigned threads) const { return ahead_ ? ahead_->readers(threads) : threads; }

private:
    const Blob& blob_;
    const BlobRange range_;
    const Dialect dialect_;
    const std::uint64_t size_;  // of a batch, about
    const std::size_t search_;  // how far behind the usual end of a batch a record start is looked for
    std::uint64_t next_ = 0;
    std::span<const std::uint8_t> mapped_;  // the range, if it may be looked at where it is
    std::optional<ReadAhead> ahead_;        // likewise
};

}  // namespace cleave
