// Decodes the chunks of a gzip stream on several threads, in three steps (see "One shape" in doc/internals/design.md):
//
//     measure   each chunk is decoded from a guessed start, to symbols
//     link      in order: a chunk whose start is the end of the chunk before gets its window from it; 32 KiB of work
//     resolve   each linked chunk: symbols become bytes, and checksums are taken
//
// The steps overlap: a thread takes the first chunk that can be resolved, or else the first that can be decoded. The
// thread that owns the queue helps while it waits.
//
// Only a chunk that was linked is right. The first link is given by the owner, who knows that it is; and if one chunk
// is right, and the next was decoded from exactly its end, so is that. When a chunk does not fit, the links end there,
// and the owner has to find the way to a later chunk; see parallel_gzip.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/unfilled_buffer.h"
#include "features/compressed/inflate/chunk.h"

namespace cleave {

// A place between two chunks, and what the next one needs from those before.
struct ChunkLink {
    std::uint64_t bit = 0;  // of the stream
    bool is_in_member = false;
    std::vector<std::uint8_t> window;  // of the member: all of it, or the last 32 KiB
};

// Compressed bytes, and what becomes of them. The thread that is at work on a slot owns it; otherwise the owner of the
// queue does.
struct ChunkSlot {
    UnfilledBuffer buffer;
    std::span<const std::uint8_t> bytes;  // of the chunk, followed by some of the next chunk
    std::size_t size = 0;                 // of the chunk
    std::uint64_t first = 0;              // where it begins in the stream
    bool reaches_end = false;             // the stream ends where `bytes` do

    std::optional<Chunk> chunk;  // its bits count from the first of `bytes`
    ChunkRoom room;
    ChunkLink before, after;               // once it is linked
    bool is_resolved = false;              // without a fault
    std::vector<std::uint32_t> checksums;  // CRC-32 of what is before each end of a member, and after the last one
};

// For one thread at a time, its owner.
class ChunkQueue {
public:
    // Uses that many threads, including the owner, or fewer if they cannot be started.
    explicit ChunkQueue(unsigned threads);
    ChunkQueue(const ChunkQueue&) = delete;
    ChunkQueue& operator=(const ChunkQueue&) = delete;
    ~ChunkQueue() = default;

    // Whether more chunks would keep more threads busy.
    bool wants_more() const;
    // A slot that is not in use. Throws std::bad_alloc.
    std::unique_ptr<ChunkSlot> spare();
    void push(std::unique_ptr<ChunkSlot> slot);

    bool is_empty() const { return slots_.empty(); }
    const ChunkSlot& front() const { return *slots_.front().slot; }

    // Waits for the first chunk. Returns its slot once it is resolved, or nothing if it could not be linked.
    ChunkSlot* wait_for_front();
    // Waits until the first chunk has been decoded.
    const ChunkSlot& wait_for_decoded_front();
    // Links the first chunk, which must have been decoded, or none yet. Returns false if it does not fit.
    bool link_front(const ChunkLink& link);
    // Waits until no thread is at work on the first chunk, and removes it.
    void pop();

private:
    enum class State : std::uint8_t { kRead, kDecoding, kDecoded, kLinked, kResolving, kResolved };

    struct Entry {
        std::unique_ptr<ChunkSlot> slot;
        State state;
    };

    // What the owner waits for: the state of the first chunk.
    enum class Goal : std::uint8_t { kDecoded, kResolvedOrUnlinked, kNotAtWork };

    void run(const std::stop_token& stop);
    bool do_task() CLEAVE_EXCLUDES(mutex_);
    Entry* next_task() CLEAVE_REQUIRES(mutex_);
    void wait_for(Goal goal) CLEAVE_EXCLUDES(mutex_);
    bool has_reached(Goal goal) const CLEAVE_REQUIRES(mutex_);
    void link_decoded() noexcept CLEAVE_REQUIRES(mutex_);
    bool link_or_leave(ChunkSlot& slot) noexcept CLEAVE_REQUIRES(mutex_);
    bool link(ChunkSlot& slot) CLEAVE_REQUIRES(mutex_);

    unsigned threads_;
    mutable Mutex mutex_;
    StoppableConditionVariable changed_;
    std::deque<Entry> slots_;  // changed by the owner only, with the mutex held; so is a state, by whoever works
    std::size_t linked_ CLEAVE_GUARDED_BY(mutex_) = 0;         // how many of slots_, counting from the first
    std::optional<ChunkLink> link_ CLEAVE_GUARDED_BY(mutex_);  // after these; nothing if the next chunk does not fit
    std::vector<std::unique_ptr<ChunkSlot>> spares_;
    std::vector<std::jthread> workers_;  // last: they use the other members
};

}  // namespace cleave
