// Reuses pinned memory for page after page, because pinning or zeroing memory takes longer than copying it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "cleave/memory.h"

namespace cleave {

// Thread-safe.
class PinnedBlocks : public std::enable_shared_from_this<PinnedBlocks> {
public:
    // `flags` are passed with each request; see cleave/memory_manager.h.
    PinnedBlocks(std::shared_ptr<MemoryManager> memory, std::uint32_t flags)
        : memory_(std::move(memory)), flags_(flags) {}

    // Takes a block of at least `size` bytes, which comes back when its last pointer is destroyed. Returns null if
    // there is no pinned memory.
    std::shared_ptr<Memory> take(std::size_t size);
    // Releases the blocks that are not in use.
    void clear();

private:
    void put_back(Memory block) noexcept;

    const std::shared_ptr<MemoryManager> memory_;
    const std::uint32_t flags_;
    Mutex mutex_;
    std::vector<Memory> free_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave
