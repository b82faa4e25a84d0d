#include "rows/memory/pool_manager.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

namespace cleave {

struct PoolManager::Region {
    Region* previous = nullptr;
    Region* next = nullptr;
    cleave_memory memory{};
    cleave_memory_space space = 0;
    Block* first = nullptr;
    bool is_lent = false;  // pinned, or opened from another process: one block, which is never free
};

// What a cleave_memory::handle points to.
struct PoolManager::Block {
    Region* region = nullptr;
    Block* previous = nullptr;  // in address order
    Block* next = nullptr;
    Block* previous_free = nullptr;  // in its list of free_
    Block* next_free = nullptr;
    std::size_t offset = 0;  // within the region
    std::size_t size = 0;
    void* stream = nullptr;  // of a free block: the stream on which it was released
    bool is_free = true;
    bool is_secret = false;

    std::uint8_t* begin() const noexcept { return static_cast<std::uint8_t*>(region->memory.pointer) + offset; }
};

namespace {

std::size_t list_of(std::size_t size) noexcept {
    return static_cast<std::size_t>(std::bit_width(size / PoolManager::kUnit)) - 1;
}

}  // namespace

PoolManager::PoolManager(const cleave_memory_manager& source, std::uint64_t region_size, DeviceCalls calls) noexcept
    : ManagerBase("pool",
                  (source.capabilities & (CLEAVE_MEMORY_CAN_HOST | CLEAVE_MEMORY_CAN_PINNED | CLEAVE_MEMORY_CAN_MAPPED |
                                          CLEAVE_MEMORY_CAN_DEVICE | CLEAVE_MEMORY_CAN_PIN | CLEAVE_MEMORY_CAN_EXPORT |
                                          CLEAVE_MEMORY_CAN_OPEN | CLEAVE_MEMORY_CAN_DEFER)) |
                      CLEAVE_MEMORY_CAN_INFO | CLEAVE_MEMORY_CAN_SECRET | CLEAVE_MEMORY_IS_STREAM_ORDERED),
      source_(source),
      region_size_(region_size),
      calls_(calls) {}

PoolManager::~PoolManager() {
    reset();
    source_.destroy(source_.state);
}

PoolStatistics PoolManager::statistics() const {
    const MutexLock lock(mutex_);
    return statistics_;
}

int PoolManager::initialize(std::int32_t device) noexcept { return source_.initialize(source_.state, device); }

int PoolManager::zero(const Block& block, std::size_t size, void* stream) const noexcept {
    if (block.region->space == CLEAVE_MEMORY_DEVICE) return calls_.zero(block.begin(), size, stream);
    ::explicit_bzero(block.begin(), size);
    return 0;
}

void PoolManager::link(Block& block) noexcept {
    Block*& list = free_[block.region->space][list_of(block.size)];
    block.previous_free = nullptr;
    block.next_free = list;
    if (list != nullptr) list->previous_free = &block;
    list = &block;
}

void PoolManager::unlink(Block& block) noexcept {
    if (block.next_free != nullptr) block.next_free->previous_free = block.previous_free;
    if (block.previous_free != nullptr) {
        block.previous_free->next_free = block.next_free;
    } else {
        free_[block.region->space][list_of(block.size)] = block.next_free;
    }
}

// Makes a region with one block from the memory that get(memory) sets.
template <class Get>
int PoolManager::make_region(cleave_memory_space space, const Get& get, Region*& region) noexcept {
    auto* const made = new (std::nothrow) Region{};
    auto* const block = new (std::nothrow) Block{};
    const int error = made == nullptr || block == nullptr ? ENOMEM : get(made->memory);
    if (error != 0) {
        delete made;
        delete block;
        return error;
    }
    made->space = space;
    made->first = block;
    block->region = made;
    block->size = made->memory.size;
    region = made;
    return 0;
}

void PoolManager::keep(Region& region) noexcept {
    region.next = first_region_;
    if (first_region_ != nullptr) first_region_->previous = &region;
    first_region_ = &region;
}

// Adds a region with one free block.
int PoolManager::add_region(cleave_memory_space space, std::size_t size) noexcept {
    Region* region = nullptr;
    const int error = make_region(
        space,
        [&](cleave_memory& memory) {
            return source_.allocate(source_.state, space, std::max(size, region_size_), kUnit, 0, nullptr, &memory);
        },
        region);
    if (error != 0) return error;
    if (space != CLEAVE_MEMORY_DEVICE) leave_out_of_dumps(region->memory);
    region->first->size = region->memory.size / kUnit * kUnit;
    keep(*region);
    link(*region->first);
    ++statistics_.regions;
    statistics_.region_size += region->memory.size;
    return 0;
}

// Hands out memory that the source pins or opens.
template <class Get>
int PoolManager::lend(cleave_memory_space space, const Get& get, cleave_memory& memory) noexcept {
    Region* region = nullptr;
    if (const int error = make_region(space, get, region); error != 0) return error;
    region->is_lent = true;
    region->first->is_free = false;
    const MutexLock lock(mutex_);
    keep(*region);
    memory = {region->memory.pointer, region->memory.size, region->first};
    return 0;
}

int PoolManager::pin(const cleave_memory_owner& owner, void* pointer, std::size_t size, std::uint32_t flags,
                     cleave_memory& pinned) noexcept {
    return lend(
        CLEAVE_MEMORY_PINNED,
        [&](cleave_memory& memory) { return source_.pin(source_.state, &owner, pointer, size, flags, &memory); },
        pinned);
}

int PoolManager::open_ipc(const cleave_memory_export& exported, std::int32_t device, cleave_memory& memory) noexcept {
    return lend(
        CLEAVE_MEMORY_DEVICE,
        [&](cleave_memory& opened) { return source_.open_ipc(source_.state, &exported, device, &opened); }, memory);
}

// Splits a free block into one of `size` bytes and the rest. Returns the rest, which is not in a list, or nullptr if
// there is no memory to describe it.
PoolManager::Block* PoolManager::divide(Block& block, std::size_t size) noexcept {
    auto* const rest = new (std::nothrow) Block{};
    if (rest == nullptr) return nullptr;
    rest->region = block.region;
    rest->previous = &block;
    rest->next = block.next;
    rest->offset = block.offset + size;
    rest->size = block.size - size;
    rest->stream = block.stream;
    if (block.next != nullptr) block.next->previous = rest;
    block.next = rest;
    block.size = size;
    return rest;
}

// Takes `size` bytes from a free block, starting `before` bytes past its beginning. Returns nullptr if there is no
// memory to describe the parts.
PoolManager::Block* PoolManager::take(Block& block, std::size_t before, std::size_t size) noexcept {
    unlink(block);
    Block* taken = &block;
    if (before > 0) {
        taken = divide(block, before);
        link(block);
        if (taken == nullptr) return nullptr;
    }
    if (taken->size > size) {
        // If there is no memory to describe the rest, the block stays larger than necessary.
        if (Block* const rest = divide(*taken, size)) link(*rest);
    }
    taken->is_free = false;
    return taken;
}

// Finds and takes a block of `size` bytes. Returns nullptr if there is none.
PoolManager::Block* PoolManager::find(cleave_memory_space space, std::size_t size, std::size_t alignment) noexcept {
    for (std::size_t list = list_of(size); list < kLists; ++list) {
        for (Block* block = free_[space][list]; block != nullptr; block = block->next_free) {
            const auto address = reinterpret_cast<std::uintptr_t>(block->begin());
            const std::size_t before = (alignment - address % alignment) % alignment;
            if (block->size >= size && block->size - size >= before) return take(*block, before, size);
        }
    }
    return nullptr;
}

// Sets `block` to a taken block of `size` bytes: from the free blocks; from a new region, which has `extra` more bytes;
// or, when memory runs out, from joined neighbours.
int PoolManager::obtain(cleave_memory_space space, std::size_t size, std::size_t extra, std::size_t alignment,
                        Block*& block) noexcept {
    block = find(space, size, alignment);
    if (block != nullptr) return 0;
    int error = add_region(space, size + extra);
    if (error == ENOMEM) {
        settle();
        block = find(space, size, alignment);
        if (block != nullptr) return 0;
        trim();
        error = add_region(space, size + extra);
    }
    if (error == 0) block = find(space, size, alignment);
    return error == 0 && block == nullptr ? ENOMEM : error;
}

int PoolManager::allocate(cleave_memory_space space, std::size_t size, std::size_t alignment, std::uint32_t flags,
                          void* stream, cleave_memory& memory) noexcept {
    if (const int error = check_request(space, alignment, flags); error != 0) return error;
    if ((capability_of(space) & face().capabilities) == 0) return ENOTSUP;
    // A region begins at a multiple of kUnit; a higher alignment may need that many more bytes.
    const std::size_t extra = alignment > kUnit ? alignment : 0;
    if (size > SIZE_MAX / 4 || extra > SIZE_MAX / 4) return ENOMEM;
    const std::size_t wanted = std::max<std::size_t>((size + kUnit - 1) / kUnit, 1) * kUnit;

    const MutexLock lock(mutex_);
    Block* block = nullptr;
    if (const int failure = obtain(space, wanted, extra, alignment, block); failure != 0) return failure;
    block->is_secret = (flags & CLEAVE_MEMORY_SECRET) != 0;
    statistics_.used_size += block->size;
    statistics_.peak_size = std::max(statistics_.peak_size, statistics_.used_size);
    ++statistics_.requests;
    int error = space == CLEAVE_MEMORY_DEVICE && block->stream != stream ? calls_.wait(block->stream) : 0;
    if (error == 0) block->stream = stream;  // otherwise it is still not ready for other streams
    if (error == 0 && (flags & CLEAVE_MEMORY_ZEROED) != 0) error = zero(*block, block->size, stream);
    if (error != 0) {
        put_back(*block);
        return error;
    }
    memory = {block->begin(), block->size, block};
    return 0;
}

int PoolManager::release(const cleave_memory& memory, void* stream) noexcept {
    auto& block = *static_cast<Block*>(memory.handle);
    if (block.region->is_lent) {
        Region& region = *block.region;
        {
            const MutexLock lock(mutex_);
            forget(region);
        }
        return give_back(region, stream);
    }
    // A device may still be copying to or from pinned memory, which any caller might get next.
    const cleave_memory_space space = block.region->space;
    const bool is_pinned = space == CLEAVE_MEMORY_PINNED || space == CLEAVE_MEMORY_MAPPED;
    const int waited = is_pinned && calls_.wait != nullptr ? calls_.wait(stream) : 0;
    const int zeroed = block.is_secret ? zero(block, block.size, stream) : 0;
    const MutexLock lock(mutex_);
    block.stream = stream;
    put_back(block);
    return waited != 0 ? waited : zeroed;
}

void PoolManager::put_back(Block& block) noexcept {
    statistics_.used_size -= block.size;
    block.is_free = true;
    Block* first = &block;
    if (block.previous != nullptr && can_join(*block.previous, block)) {
        first = block.previous;
        unlink(*first);
        join_next(*first);
    }
    if (first->next != nullptr && can_join(*first, *first->next)) {
        unlink(*first->next);
        join_next(*first);
    }
    link(*first);
}

// Blocks of host memory can always be joined: they are ready for every stream.
bool PoolManager::can_join(const Block& block, const Block& next) noexcept {
    const bool is_one_stream = block.region->space != CLEAVE_MEMORY_DEVICE || block.stream == next.stream;
    return block.is_free && next.is_free && is_one_stream;
}

void PoolManager::join_next(Block& block) noexcept {
    Block* const next = block.next;
    block.size += next->size;
    block.next = next->next;
    if (next->next != nullptr) next->next->previous = &block;
    delete next;
}

// Waits for the streams of all free device blocks, and joins neighbours that were kept apart by different streams.
void PoolManager::settle() noexcept {
    for (Region* region = first_region_; region != nullptr; region = region->next) {
        if (region->space != CLEAVE_MEMORY_DEVICE) continue;
        for (Block* block = region->first; block != nullptr; block = block->next) {
            if (block->is_free && block->stream != nullptr && calls_.wait(block->stream) == 0) block->stream = nullptr;
        }
        for (Block* block = region->first; block != nullptr; block = block->next) {
            if (!block->is_free) continue;
            unlink(*block);
            while (block->next != nullptr && can_join(*block, *block->next)) {
                unlink(*block->next);
                join_next(*block);
            }
            link(*block);
        }
    }
}

// Gives back the regions that are entirely free.
void PoolManager::trim() noexcept {
    for (Region* region = first_region_; region != nullptr;) {
        Region* const current = std::exchange(region, region->next);
        Block* const only = current->first;
        if (!only->is_free || only->next != nullptr) continue;
        unlink(*only);
        --statistics_.regions;
        statistics_.region_size -= current->memory.size;
        forget(*current);
        give_back(*current, only->stream);
    }
}

void PoolManager::forget(Region& region) noexcept {
    if (region.previous != nullptr) region.previous->next = region.next;
    if (region.next != nullptr) region.next->previous = region.previous;
    if (first_region_ == &region) first_region_ = region.next;
}

int PoolManager::give_back(Region& region, void* stream) const noexcept {
    while (region.first != nullptr) delete std::exchange(region.first, region.first->next);
    const int error = source_.release(source_.state, &region.memory, stream);
    delete &region;
    return error;
}

int PoolManager::info(cleave_memory_space space, std::uint64_t& free_size, std::uint64_t& total_size) noexcept {
    if (source_.info == nullptr) return ENOTSUP;
    if (const int error = source_.info(source_.state, space, &free_size, &total_size); error != 0) return error;
    const MutexLock lock(mutex_);
    for (const Block* list : free_[std::min<std::size_t>(space, kSpaces - 1)]) {
        for (; list != nullptr; list = list->next_free) free_size += list->size;
    }
    free_size = std::min(free_size, total_size);
    return 0;
}

int PoolManager::export_ipc(const cleave_memory& memory, cleave_memory_export& exported) noexcept {
    const auto& block = *static_cast<const Block*>(memory.handle);
    if (block.region->space != CLEAVE_MEMORY_DEVICE) return ENOTSUP;
    cleave_memory_export made{};
    const int error = source_.export_ipc(source_.state, &block.region->memory, &made);
    if (error != 0) return error;
    made.offset += block.offset;
    made.size = memory.size;
    exported = made;
    return 0;
}

int PoolManager::defer_cleanup_begin() noexcept { return source_.defer_cleanup_begin(source_.state); }

int PoolManager::defer_cleanup_end() noexcept { return source_.defer_cleanup_end(source_.state); }

int PoolManager::reset() noexcept {
    Region* first = nullptr;
    {
        const MutexLock lock(mutex_);
        first = std::exchange(first_region_, nullptr);
        free_ = {};
        statistics_.regions = statistics_.region_size = statistics_.used_size = 0;
    }
    // Without the lock, because releasing the owner of pinned memory may take other locks.
    while (first != nullptr) {
        Region& region = *std::exchange(first, first->next);
        for (Block* block = region.first; block != nullptr; block = block->next) {
            if (!block->is_free && block->is_secret) zero(*block, block->size, block->stream);
            // A region is released on one stream, but its blocks may be in use on others.
            if (region.space == CLEAVE_MEMORY_DEVICE && block->stream != nullptr) calls_.wait(block->stream);
        }
        give_back(region, nullptr);
    }
    return source_.reset(source_.state);
}

}  // namespace cleave
