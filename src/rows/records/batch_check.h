// Checks that batches read from a file still match the file before any result derived from them leaves the process.
//
// A batch is a private copy (see records/private_bytes.h), so everything that reads it sees the same bytes. But another
// process may have written to the file while it was being copied. Then the batch begins with old bytes and ends with
// new ones, or it comes from a different version of the file than the batch before it. Such bytes may look like sound
// records in which a value has moved to a column that no rule changes. To prevent this:
//
//   a batch is compared with the file after it was copied: a difference reveals a write in between
//   when a batch's turn comes, the last bytes before it, as they were in the previous batch, are compared with the
//       file as well: if the two batches are from different versions of the file, these bytes differ
//   where ranges are read side by side, both ranges that meet at an offset must have seen the same bytes before it
//   the size and the timestamps of the file must be the same as at the beginning, unless it is a snapshot
//
// The comparison also finds writes through mappings, which need not change the timestamps of a file. It cannot find
// bytes that change and change back, or a write that begins exactly between two batches and leaves everything before it
// unchanged. In that case the remaining batches come from a version that the file as a whole might never have had.
//
// For each batch this costs one memcmp() of bytes that are in the cache, and one fstat(). A stream is not compared,
// because its bytes are read only once.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "cleave/input.h"

namespace cleave {

// Checks one input. May be used from any thread.
class BatchCheck {
public:
    // What to compare with: the mapping, if there is one, or the file, read with pread(), where SIGBUS must not occur.
    enum class Reads : std::uint8_t { kMapping, kFile };

    // `input` must outlive it.
    BatchCheck(const Input& input, Reads reads)
        : input_(input), is_needed_(!input.is_stream()), may_map_(reads == Reads::kMapping) {}

    // Throws InputChangedError unless the file has these bytes at `offset`. Uses `threads` threads.
    void compare(std::uint64_t offset, std::span<const std::uint8_t> bytes, unsigned threads = 1) const;

private:
    friend class BatchTrail;

    bool is_same(std::uint64_t offset, std::span<const std::uint8_t> bytes, bool is_mapped) const;
    void meet(std::uint64_t offset, std::span<const std::uint8_t> before);

    const Input& input_;
    const bool is_needed_;
    const bool may_map_;
    Mutex mutex_;
    // For each offset where two ranges meet: a hash of what the first of the two has seen.
    std::unordered_map<std::uint64_t, std::uint64_t> met_ CLEAVE_GUARDED_BY(mutex_);
};

// Follows the batches of a range, in order. Use from one thread at a time.
class BatchTrail {
public:
    // The first batch begins at `offset`. `before` holds the bytes right before it, as far as they have already been
    // read. Throws InputChangedError, and what Blob::read() throws.
    BatchTrail(BatchCheck& check, std::uint64_t offset, std::span<const std::uint8_t> before);

    // Takes the next batch, which must have been compared. Call this before any result from the batch leaves the
    // process. Throws InputChangedError, and what Input::throw_if_changed() throws.
    void take(std::span<const std::uint8_t> batch) { take(batch.size(), last_of(batch)); }
    // The same for a batch if only the result of last_of() was kept.
    void take(std::uint64_t size, std::span<const std::uint8_t> last);
    // The last bytes of a batch, which are needed when the next batch's turn comes.
    static std::span<const std::uint8_t> last_of(std::span<const std::uint8_t> batch);
    // Call this after the last batch. Throws InputChangedError.
    void end();

private:
    void keep(std::span<const std::uint8_t> bytes);

    BatchCheck& check_;
    std::uint64_t offset_;              // where the next batch begins
    std::vector<std::uint8_t> before_;  // the last bytes before it
};

}  // namespace cleave
