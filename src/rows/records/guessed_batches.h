// Cuts a range of a blob into batches of whole records by guessing where records start, so that several threads can
// read records side by side without scanning first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "cleave/blob.h"
#include "cleave/dialect.h"
#include "core/reader/read_ahead.h"
#include "core/scan/walker.h"
#include "rows/records/batch.h"

namespace cleave {

// Guesses where a record starts, so that several threads can read records without scanning first. No result depends on
// a guess, so it may read a mapping that other processes write to.

// A guess depends on kGuessBehind bytes before `from` and on the bytes from `from` on: kGuessAhead of them, or search +
// 1 if that is more. So a part of the input that contains these bytes gives the same guess as the whole input.
inline constexpr std::size_t kGuessBehind = 2050;
inline constexpr std::size_t kGuessAhead = (std::size_t{16} << 10) + 1;

// Returns the first record start that is found in [from, from + search). If none is found, returns the end of that
// range, where a record starts only by chance. That end is never between the CR and the LF of one line break, because
// there it would look like a record start. `bytes` must begin and end at record boundaries, and 0 < from <
// bytes.size().
std::size_t guessed_start(std::span<const std::uint8_t> bytes, std::size_t from, std::size_t search,
                          const Dialect& dialect, Walker& walker);

// How a file is read. Where SIGBUS must not occur, as in a process that merely uses the library, a file is not read
// through a mapping.
enum class BatchAccess : std::uint8_t { kMapping, kFile };

class GuessedBatches {
public:
    // `range` is a part of the blob and must begin and end at record boundaries. `blob` must outlive this object. Only
    // the size is used from `options`.
    GuessedBatches(const Blob& blob, BlobRange range, const Dialect& dialect, BatchAccess access,
                   const BatchOptions& options);

    // Sets the number of `batch` to the next one. Returns false after the last batch. Call from one thread at a time.
    bool next(OwnedBatch& batch);
    // Finds the batch with that number and copies it. May be called from any thread with its own walker. Throws
    // DoubtfulBatch if the batch would end before it begins, MemoryError, and what copy_bytes() throws.
    void fill(OwnedBatch& batch, Walker& walker);
    // The same, but a batch in a mapping is not copied, so other processes may still write to its bytes.
    void find(OwnedBatch& batch, Walker& walker);
    // How many of `threads` threads are left for batches, given that one of them may be reading ahead.
    unsigned readers(unsigned threads) const { return ahead_ ? ahead_->readers(threads) : threads; }

private:
    const Blob& blob_;
    const BlobRange range_;
    const Dialect dialect_;
    const std::uint64_t size_;                    // approximate size of a batch
    const std::span<const std::uint8_t> mapped_;  // the range, if it may be read in place
    const std::size_t search_;                    // how far past the usual end of a batch to look for a record start
    std::uint64_t next_ = 0;
    std::optional<ReadAhead> ahead_;  // only if it may be read in place
};

}  // namespace cleave
