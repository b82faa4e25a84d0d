#include "features/gpu/pinned_blocks.h"

#include <algorithm>
#include <new>
#include <utility>

#include "features/gpu/device_memory.h"

namespace cleave {
namespace {

// Enough for the input and output of the pages in flight.
constexpr std::size_t kMostFree = 16;

// A block is not used for a request of less than this part of its size.
constexpr std::size_t kLeastPart = 4;

// Adds some room, so that a block can also hold slightly larger pages.
constexpr std::size_t roomy(std::size_t size) { return size + size / 8; }

bool is_smaller(const Memory& a, const Memory& b) { return a.size() < b.size(); }

}  // namespace

std::shared_ptr<Memory> PinnedBlocks::take(std::size_t size) {
    Memory block;
    {
        const MutexLock lock(mutex_);
        auto best = free_.end();
        for (auto one = free_.begin(); one != free_.end(); ++one) {
            if (one->size() >= size && one->size() / kLeastPart <= roomy(size) &&
                (best == free_.end() || is_smaller(*one, *best)))
                best = one;
        }
        if (best != free_.end()) {
            block = std::move(*best);
            free_.erase(best);
        }
    }
    try {
        if (block.size() == 0) block = memory_->allocate({roomy(size), MemorySpace::kPinned, 0, flags_, nullptr});
    } catch (const MemoryError& error) {
        rethrow_if_broken(error);  // if the manager works, the caller manages without the block
        return nullptr;
    }
    const auto give_back = [pool = shared_from_this()](Memory* used) {
        pool->put_back(std::move(*used));
        delete used;
    };
    return {new Memory(std::move(block)), give_back};
}

void PinnedBlocks::clear() {
    const MutexLock lock(mutex_);
    free_.clear();
}

// Keeps the largest blocks.
void PinnedBlocks::put_back(Memory block) noexcept {
    const MutexLock lock(mutex_);
    try {
        if (free_.size() < kMostFree) return free_.push_back(std::move(block));
    } catch (const std::bad_alloc&) {  // the block is released
        return;
    }
    const auto smallest = std::ranges::min_element(free_, is_smaller);
    if (is_smaller(*smallest, block)) *smallest = std::move(block);
}

}  // namespace cleave
