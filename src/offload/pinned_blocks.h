// Pinned memory that pages use one after another. To pin memory costs more than to copy it, and so does to zero it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "cleave/memory.h"

namespace cleave {

// Any thread may use it.
class PinnedBlocks : public std::enable_shared_from_this<PinnedBlocks> {
public:
    // `flags` are those of cleave/memory_manager.h, for each block.
    PinnedBlocks(std::shared_ptr<MemoryManager> memory, std::uint32_t flags)
        : memory_(std::move(memory)), flags_(flags) {}

    // A block of at least `size` bytes, which comes back with its last pointer. Null if there is no pinned memory.
    std::shared_ptr<Memory> take(std::size_t size);
    // Releases the blocks that nobody has.
    void clear();

private:
    void put_back(Memory block) noexcept;

    const std::shared_ptr<MemoryManager> memory_;
    const std::uint32_t flags_;
    Mutex mutex_;
    std::vector<Memory> free_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave
