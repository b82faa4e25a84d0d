// Whether batches of records that were read of a file are still what stands there, before anything that was made of
// them leaves the process.
//
// A batch is a private copy (see records/private_bytes.h), so it is read alike by all. But while it was copied somebody
// may have written: then its first bytes are old and its last ones new, or it is of another version than the batch
// before it. Such bytes may read as sound records in which a value stands in a column that no rule changes. So
//
//   a batch is compared with the file after it was copied: a difference shows a write in between
//   at its turn, so are the last bytes before it, as the batch before it had them: neighbours of two versions differ
//   there where ranges are read side by side, both that meet at an offset must have seen the same bytes before it the
//   size and the times of the file must be those of the beginning, unless it is a snapshot
//
// The comparison finds writes through mappings, which need not change the times of a file. What it cannot find are
// bytes that change and change back, and a write that begins exactly between two batches and leaves all before it as it
// was: then the last batches are of a version that may never have stood in the file as a whole.
//
// It costs one memcmp() of what is in the cache, and one fstat() for each batch. Nothing is compared of a stream, whose
// bytes are read once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "cleave/input.h"

namespace cleave {

// Of one input. Any thread.
class BatchCheck {
public:
    // What is compared with: the mapping, if there is one, or the file by pread(), where SIGBUS must not come.
    enum class Reads : std::uint8_t { kMapping, kFile };

    // `input` must outlive it.
    BatchCheck(const Input& input, Reads reads)
        : input_(input), is_needed_(!input.is_stream()), is_mapped_(reads == Reads::kMapping && input.is_mapped()) {}

    // Throws InputChangedError unless the file has these bytes at `offset`. By `threads` threads.
    void compare(std::uint64_t offset, std::span<const std::uint8_t> bytes, unsigned threads = 1) const;

private:
    friend class BatchTrail;

    bool is_same(std::uint64_t offset, std::span<const std::uint8_t> bytes) const;
    void meet(std::uint64_t offset, std::span<const std::uint8_t> before);

    const Input& input_;
    const bool is_needed_;
    const bool is_mapped_;
    Mutex mutex_;
    // By offset: a hash of what one side has seen.
    std::unordered_map<std::uint64_t, std::uint64_t> met_ CLEAVE_GUARDED_BY(mutex_);
};

// The batches of a range, in order. For one thread at a time.
class BatchTrail {
public:
    // The first batch begins at `offset`. `before` are the bytes before it, if they were read already. Throws as
    // read_bytes(), InputChangedError.
    BatchTrail(BatchCheck& check, std::uint64_t offset, std::span<const std::uint8_t> before);

    // The batch that follows, which was compared. To be called before anything of it leaves the process. Throws
    // InputChangedError, and as Input::throw_if_changed().
    void take(std::span<const std::uint8_t> batch) { take(batch.size(), last_of(batch)); }
    // The same, of which last_of() was kept.
    void take(std::uint64_t size, std::span<const std::uint8_t> last);
    // What is needed of a batch when its turn comes.
    static std::span<const std::uint8_t> last_of(std::span<const std::uint8_t> batch);
    // No batch follows. Throws InputChangedError.
    void end();

private:
    void keep(std::span<const std::uint8_t> bytes);

    BatchCheck& check_;
    std::uint64_t offset_;              // of the next batch
    std::vector<std::uint8_t> before_;  // the last bytes before it
};

}  // namespace cleave
