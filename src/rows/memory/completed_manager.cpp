#include "rows/memory/completed_manager.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace cleave {
namespace {

std::uint32_t all_capabilities(const std::vector<OwnedManager>& managers) noexcept {
    std::uint32_t all = CLEAVE_MEMORY_CAN_SECRET;
    for (const OwnedManager& manager : managers) {
        all |= manager->capabilities & ~std::uint32_t{CLEAVE_MEMORY_IS_STREAM_ORDERED};
    }
    const bool is_ordered = (managers.front()->capabilities & CLEAVE_MEMORY_IS_STREAM_ORDERED) != 0;
    return all | (is_ordered ? CLEAVE_MEMORY_IS_STREAM_ORDERED : 0);
}

void wipe(const cleave_memory& memory) noexcept {
    if (memory.size > 0) ::explicit_bzero(memory.pointer, memory.size);
}

// Only complete pages can be left out of core dumps. Returns false if the size is too large.
bool to_whole_pages(std::size_t& size, std::size_t& alignment) noexcept {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    if (size > SIZE_MAX - (page - 1)) return false;
    size = (size + page - 1) / page * page;
    alignment = std::max(alignment, page);
    return true;
}

}  // namespace

CompletedManager::CompletedManager(std::vector<OwnedManager> managers)
    : ManagerBase(managers.front()->name, all_capabilities(managers)), managers_(std::move(managers)) {}

CompletedManager::~CompletedManager() { forget_all(); }

const cleave_memory_manager* CompletedManager::first_with(std::uint32_t capability) const noexcept {
    for (const OwnedManager& manager : managers_) {
        if ((manager->capabilities & capability) != 0) return manager.get();
    }
    return nullptr;
}

void CompletedManager::keep(Given& given) noexcept {
    const MutexLock lock(mutex_);
    given.next = first_;
    if (first_ != nullptr) first_->previous = &given;
    first_ = &given;
}

void CompletedManager::forget(Given& given) noexcept {
    {
        const MutexLock lock(mutex_);
        if (given.previous != nullptr) given.previous->next = given.next;
        if (given.next != nullptr) given.next->previous = given.previous;
        if (first_ == &given) first_ = given.next;
    }
    delete &given;
}

void CompletedManager::forget_all() noexcept {
    const MutexLock lock(mutex_);
    while (first_ != nullptr) {
        if (first_->must_wipe) wipe(first_->memory);
        delete std::exchange(first_, first_->next);
    }
}

int CompletedManager::initialize(std::int32_t device) noexcept {
    for (const OwnedManager& manager : managers_) {
        if (const int error = manager->initialize(manager->state, device); error != 0) return error;
    }
    return 0;
}

int CompletedManager::allocate(cleave_memory_space space, std::size_t size, std::size_t alignment, std::uint32_t flags,
                               void* stream, cleave_memory& memory) noexcept {
    if (const int error = check_request(space, alignment, flags); error != 0) return error;
    const cleave_memory_manager* const manager = first_with(capability_of(space));
    if (manager == nullptr) return ENOTSUP;
    const bool is_secret = (flags & CLEAVE_MEMORY_SECRET) != 0 && space != CLEAVE_MEMORY_DEVICE;
    const bool must_wipe = is_secret && (manager->capabilities & CLEAVE_MEMORY_CAN_SECRET) == 0;
    if (must_wipe && !to_whole_pages(size, alignment)) return ENOMEM;
    auto* const given = new (std::nothrow) Given{};
    if (given == nullptr) return ENOMEM;
    given->manager = manager;
    given->must_wipe = must_wipe;
    if (const int error = manager->allocate(manager->state, space, size, alignment, flags, stream, &given->memory);
        error != 0) {
        delete given;
        return error;
    }
    const auto address = reinterpret_cast<std::uintptr_t>(given->memory.pointer);
    if (given->memory.size < size || (size > 0 && (address == 0 || address % alignment != 0))) {
        manager->release(manager->state, &given->memory, stream);
        delete given;
        return EPROTO;
    }
    if (must_wipe) leave_out_of_dumps(given->memory);
    keep(*given);
    memory = {given->memory.pointer, given->memory.size, given};
    return 0;
}

int CompletedManager::release(const cleave_memory& memory, void* stream) noexcept {
    auto& given = *static_cast<Given*>(memory.handle);
    if (given.must_wipe) wipe(given.memory);
    const int error = given.manager->release(given.manager->state, &given.memory, stream);
    forget(given);
    return error;
}

// Gets memory from call(manager, memory), where `manager` is the first one with the capability.
template <class Call>
int CompletedManager::obtain(std::uint32_t capability, cleave_memory& memory, const Call& call) noexcept {
    const cleave_memory_manager* const manager = first_with(capability);
    auto* const given = new (std::nothrow) Given{};
    if (given == nullptr) return ENOMEM;
    given->manager = manager;
    if (const int error = call(*manager, given->memory); error != 0) {
        delete given;
        return error;
    }
    keep(*given);
    memory = {given->memory.pointer, given->memory.size, given};
    return 0;
}

int CompletedManager::pin(const cleave_memory_owner& owner, void* pointer, std::size_t size, std::uint32_t flags,
                          cleave_memory& pinned) noexcept {
    return obtain(CLEAVE_MEMORY_CAN_PIN, pinned, [&](const cleave_memory_manager& manager, cleave_memory& made) {
        return manager.pin(manager.state, &owner, pointer, size, flags, &made);
    });
}

int CompletedManager::open_ipc(const cleave_memory_export& exported, std::int32_t device,
                               cleave_memory& memory) noexcept {
    return obtain(CLEAVE_MEMORY_CAN_OPEN, memory, [&](const cleave_memory_manager& manager, cleave_memory& made) {
        return manager.open_ipc(manager.state, &exported, device, &made);
    });
}

// Asks the first manager that serves the space and implements info().
int CompletedManager::info(cleave_memory_space space, std::uint64_t& free_size, std::uint64_t& total_size) noexcept {
    for (const OwnedManager& manager : managers_) {
        if ((manager->capabilities & capability_of(space)) == 0 || manager->info == nullptr) continue;
        return manager->info(manager->state, space, &free_size, &total_size);
    }
    return ENOTSUP;
}

int CompletedManager::export_ipc(const cleave_memory& memory, cleave_memory_export& exported) noexcept {
    const auto& given = *static_cast<const Given*>(memory.handle);
    if (given.manager->export_ipc == nullptr) return ENOTSUP;
    return given.manager->export_ipc(given.manager->state, &given.memory, &exported);
}

int CompletedManager::defer_cleanup_begin() noexcept {
    for (std::size_t i = 0; i < managers_.size(); ++i) {
        if (managers_[i]->defer_cleanup_begin == nullptr) continue;
        const int error = managers_[i]->defer_cleanup_begin(managers_[i]->state);
        if (error == 0) continue;
        while (i-- > 0) {
            if (managers_[i]->defer_cleanup_end != nullptr) managers_[i]->defer_cleanup_end(managers_[i]->state);
        }
        return error;
    }
    return 0;
}

int CompletedManager::defer_cleanup_end() noexcept {
    int first_error = 0;
    for (const OwnedManager& manager : managers_) {
        if (manager->defer_cleanup_end == nullptr) continue;
        const int error = manager->defer_cleanup_end(manager->state);
        if (first_error == 0) first_error = error;
    }
    return first_error;
}

int CompletedManager::reset() noexcept {
    forget_all();
    int first_error = 0;
    for (const OwnedManager& manager : managers_) {
        const int error = manager->reset(manager->state);
        if (first_error == 0) first_error = error;
    }
    return first_error;
}

}  // namespace cleave
