#include "simulated_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "simulated_shared.h"

namespace cleave {
namespace {

std::uint8_t* map(std::size_t size) {
    void* const mapped = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    return static_cast<std::uint8_t*>(mapped);
}

struct Block {
    std::uint8_t* pointer;
    std::size_t size;
    cleave_memory_space space;
};

}  // namespace

Arena::Arena(std::size_t size) : size_(size), begin_(map(size)) {}
Arena::~Arena() { ::munmap(begin_, size_); }

void Arena::open() {
    const std::scoped_lock lock(mutex_);
    if (users_++ == 0) ::mprotect(begin_, size_, PROT_READ | PROT_WRITE);
}

void Arena::close() {
    const std::scoped_lock lock(mutex_);
    if (--users_ == 0) ::mprotect(begin_, size_, PROT_NONE);
}

std::uint8_t* Arena::allocate(std::size_t size, std::size_t alignment) {
    const std::scoped_lock lock(mutex_);
    const std::size_t held = std::max<std::size_t>(size, 1);
    std::size_t at = 0;
    for (auto next = taken_.begin();; ++next) {
        at = (at + alignment - 1) / alignment * alignment;
        const std::size_t end = next != taken_.end() ? next->first : size_;
        if (at <= end && end - at >= held) break;
        if (next == taken_.end()) return nullptr;
        at = next->first + next->second;
    }
    taken_[at] = held;
    used_ += held;
    peak_ = std::max(peak_, used_);
    return begin_ + at;
}

void Arena::release(std::uint8_t* pointer) {
    const Access access(*this);
    const std::scoped_lock lock(mutex_);
    const auto found = taken_.find(static_cast<std::size_t>(pointer - begin_));
    if (found == taken_.end()) std::abort();  // it was already released
    std::memset(pointer, kPoison, found->second);
    used_ -= found->second;
    taken_.erase(found);
}

bool Arena::holds(const void* pointer, std::size_t size) const {
    const std::scoped_lock lock(mutex_);
    const auto* const byte = static_cast<const std::uint8_t*>(pointer);
    if (byte < begin_ || byte >= begin_ + size_) return false;
    const auto offset = static_cast<std::size_t>(byte - begin_);
    auto after = taken_.upper_bound(offset);
    if (after == taken_.begin()) return false;
    --after;
    return offset + size <= after->first + after->second;
}

std::uint64_t Arena::used() const {
    const std::scoped_lock lock(mutex_);
    return used_;
}

std::uint64_t Arena::peak() const {
    const std::scoped_lock lock(mutex_);
    return peak_;
}

SimulatedManager::SimulatedManager(std::shared_ptr<SimulatedDevice::Shared> shared) noexcept
    : ManagerBase("simulated", CLEAVE_MEMORY_CAN_DEVICE | CLEAVE_MEMORY_CAN_PINNED | CLEAVE_MEMORY_CAN_MAPPED |
                                   CLEAVE_MEMORY_CAN_INFO),
      shared_(std::move(shared)) {}

int SimulatedManager::allocate(cleave_memory_space space, std::size_t size, std::size_t alignment, std::uint32_t flags,
                               void* /*stream*/, cleave_memory& memory) noexcept {
    if (const int error = check_request(space, alignment, flags); error != 0) return error;
    if (space == CLEAVE_MEMORY_HOST) return ENOTSUP;
    if (!shared_->begin_call().is_good()) return ENOMEM;
    std::uint8_t* pointer = nullptr;
    if (space == CLEAVE_MEMORY_DEVICE) {
        pointer = shared_->arena.allocate(size, alignment);
    } else if (shared_->pinned.load() + size <= shared_->options.pinned_size) {
        const std::size_t held = (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment;
        pointer = static_cast<std::uint8_t*>(std::aligned_alloc(alignment, held));
        shared_->pinned.fetch_add(size);
        shared_->pinned_allocations.fetch_add(1);
        const std::scoped_lock lock(shared_->mutex);
        if (pointer != nullptr) shared_->pinned_blocks[pointer] = held;
    }
    if (pointer == nullptr) return ENOMEM;
    shared_->allocations.fetch_add(1);
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): without memory the test ends
    memory = {pointer, size, new Block{pointer, size, space}};
    return 0;
}

int SimulatedManager::release(const cleave_memory& memory, void* stream) noexcept {
    shared_->wait_for(stream);
    const std::unique_ptr<Block> block(static_cast<Block*>(memory.handle));
    if (block->space == CLEAVE_MEMORY_DEVICE) {
        shared_->arena.release(block->pointer);
    } else {
        {
            const std::scoped_lock lock(shared_->mutex);
            shared_->pinned_blocks.erase(block->pointer);
        }
        std::memset(block->pointer, kPoison, block->size);
        std::free(block->pointer);  // NOLINT(cppcoreguidelines-no-malloc): from aligned_alloc()
        shared_->pinned.fetch_sub(block->size);
    }
    shared_->allocations.fetch_sub(1);
    return 0;
}

int SimulatedManager::info(cleave_memory_space space, std::uint64_t& free_size, std::uint64_t& total_size) noexcept {
    if (space != CLEAVE_MEMORY_DEVICE) return ENOTSUP;
    total_size = shared_->arena.size();
    free_size = total_size - shared_->arena.used();
    return 0;
}

}  // namespace cleave
