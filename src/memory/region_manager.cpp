#include "memory/region_manager.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace cleave {

RegionManager::RegionManager(std::shared_ptr<MemoryManager> source)
    : ManagerBase("regions", CLEAVE_MEMORY_CAN_HOST), source_(std::move(source)) {}

RegionManager::~RegionManager() { reset(); }

std::shared_ptr<MemoryManager> RegionManager::open(std::shared_ptr<MemoryManager> source) {
    return MemoryManager::adopt((new RegionManager(std::move(source)))->face());
}

// Makes a new region the current one, for a block of `size` bytes.
int RegionManager::add_region(std::size_t size) noexcept {
    try {
        auto region = std::make_unique<Region>();
        const std::size_t wanted = std::max(size, std::clamp(size_, kLeast, kMost));
        const std::uint32_t flags = wanted >= kLeastHuge ? CLEAVE_MEMORY_HUGE : 0;
        region->memory = source_->allocate({.size = wanted, .flags = flags});
        size_ += region->memory.size();
        region->next = first_;
        if (first_ != nullptr) first_->previous = region.get();
        first_ = region.release();
        return 0;
    } catch (const MemoryError& error) {
        return error.error();
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    }
}

std::unique_ptr<RegionManager::Region> RegionManager::take_out(Region& region) noexcept {
    size_ -= region.memory.size();
    if (region.previous != nullptr) region.previous->next = region.next;
    if (region.next != nullptr) region.next->previous = region.previous;
    if (first_ == &region) first_ = region.next;
    return std::unique_ptr<Region>(&region);
}

int RegionManager::allocate(cleave_memory_space space, std::size_t size, std::size_t alignment, std::uint32_t flags,
                            void* /*stream*/, cleave_memory& memory) noexcept {
    if (const int error = check_request(space, alignment, flags); error != 0) return error;
    if (space != CLEAVE_MEMORY_HOST) return ENOTSUP;
    if (size > SIZE_MAX / 4 || alignment > SIZE_MAX / 4) return ENOMEM;
    const std::scoped_lock lock(mutex_);
    const auto before_block = [&] {
        const auto address = reinterpret_cast<std::uintptr_t>(first_->memory.data()) + first_->used;
        return (alignment - address % alignment) % alignment;
    };
    if (first_ == nullptr || first_->memory.size() - first_->used < size + before_block()) {
        if (const int error = add_region(size + alignment); error != 0) return error;
    }
    Region& region = *first_;
    const std::size_t begin = region.used + before_block();
    region.used = begin + size;
    ++region.blocks;
    memory = {region.memory.data() + begin, size, &region};
    if ((flags & CLEAVE_MEMORY_ZEROED) != 0) std::memset(memory.pointer, 0, size);
    return 0;
}

int RegionManager::release(const cleave_memory& memory, void* /*stream*/) noexcept {
    auto& region = *static_cast<Region*>(memory.handle);
    std::unique_ptr<Region> empty;  // destroyed after the lock: giving memory back takes long
    const std::scoped_lock lock(mutex_);
    if (--region.blocks > 0) return 0;
    if (&region == first_) {
        region.used = 0;
    } else {
        empty = take_out(region);
    }
    return 0;
}

int RegionManager::reset() noexcept {
    const std::scoped_lock lock(mutex_);
    while (first_ != nullptr) take_out(*first_);
    return 0;
}

}  // namespace cleave
