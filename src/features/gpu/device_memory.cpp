#include "features/gpu/device_memory.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

namespace cleave {
namespace {

constexpr std::uint32_t kSpaces =
    CLEAVE_MEMORY_CAN_HOST | CLEAVE_MEMORY_CAN_PINNED | CLEAVE_MEMORY_CAN_MAPPED | CLEAVE_MEMORY_CAN_DEVICE;

std::string join_names(const MemoryManager& chosen, const MemoryManager* standard) {
    const std::uint32_t missing = kSpaces & ~chosen.manager().capabilities;
    const bool is_needed = standard != nullptr && (standard->manager().capabilities & missing) != 0;
    return is_needed ? chosen.name() + " with " + standard->name() : chosen.name();
}

std::uint32_t capabilities_of(const MemoryManager& chosen, const MemoryManager* standard) {
    const std::uint32_t first = chosen.manager().capabilities;
    const std::uint32_t second = standard != nullptr ? standard->manager().capabilities : 0;
    const std::uint32_t of_device = (first & CLEAVE_MEMORY_CAN_DEVICE) != 0 ? first : second;
    return ((first | second) & kSpaces) | CLEAVE_MEMORY_CAN_INFO | CLEAVE_MEMORY_CAN_SECRET |
           (of_device & CLEAVE_MEMORY_IS_STREAM_ORDERED);
}

}  // namespace

// What a cleave_memory::handle points to.
struct DeviceMemoryManager::Given {
    const cleave_memory_manager* manager;
    cleave_memory memory;
    std::uint64_t counted;  // bytes of device memory
};

DeviceMemoryManager::DeviceMemoryManager(std::shared_ptr<Device> device, std::shared_ptr<MemoryManager> chosen,
                                         std::shared_ptr<MemoryManager> standard, std::uint64_t limit)
    : ManagerBase("offload", capabilities_of(*chosen, standard.get())),
      name_(join_names(*chosen, standard.get())),
      device_(std::move(device)),
      chosen_(std::move(chosen)),
      standard_(std::move(standard)),
      limit_(limit != 0 ? limit : UINT64_MAX) {
    set_name(name_.c_str());
}

const cleave_memory_manager* DeviceMemoryManager::manager_of(cleave_memory_space space) const noexcept {
    for (const MemoryManager* one : {chosen_.get(), standard_.get()}) {
        if (one != nullptr && (one->manager().capabilities & capability_of(space)) != 0) return &one->manager();
    }
    return nullptr;
}

std::uint64_t DeviceMemoryManager::available() noexcept {
    const std::uint64_t used = in_use_.load();
    const std::uint64_t left = limit_ > used ? limit_ - used : 0;
    std::uint64_t free_size = 0;
    std::uint64_t total_size = 0;
    if (info(CLEAVE_MEMORY_DEVICE, free_size, total_size) != 0) return left;
    return std::min(left, free_size);
}

int DeviceMemoryManager::allocate(cleave_memory_space space, std::size_t size, std::size_t alignment,
                                  std::uint32_t flags, void* stream, cleave_memory& memory) noexcept {
    if (const int error = check_request(space, alignment, flags); error != 0) return error;
    const cleave_memory_manager* const manager = manager_of(space);
    if (manager == nullptr) return ENOTSUP;
    const std::uint64_t counted = space == CLEAVE_MEMORY_DEVICE ? size : 0;
    auto* const given = new (std::nothrow) Given{manager, {}, counted};
    const std::uint64_t used = in_use_.fetch_add(counted);
    const bool is_over = counted > 0 && (used > limit_ || counted > limit_ - used);
    int error = given == nullptr || is_over ? ENOMEM : 0;
    if (error == 0) error = manager->allocate(manager->state, space, size, alignment, flags, stream, &given->memory);
    if (error != 0) {
        in_use_.fetch_sub(counted);
        delete given;
        return error;
    }
    memory = {given->memory.pointer, given->memory.size, given};
    return 0;
}

int DeviceMemoryManager::release(const cleave_memory& memory, void* stream) noexcept {
    auto* const given = static_cast<Given*>(memory.handle);
    const int error = given->manager->release(given->manager->state, &given->memory, stream);
    in_use_.fetch_sub(given->counted);
    delete given;
    return error;
}

int DeviceMemoryManager::info(cleave_memory_space space, std::uint64_t& free_size, std::uint64_t& total_size) noexcept {
    const cleave_memory_manager* const manager = manager_of(space);
    if (manager == nullptr || manager->info == nullptr) return ENOTSUP;
    return manager->info(manager->state, space, &free_size, &total_size);
}

// A context never resets its manager, because values given to the user would lose their memory.
int DeviceMemoryManager::reset() noexcept { return ENOTSUP; }

void rethrow_if_broken(const MemoryError& error) {
    if (error.error() == EPROTO) throw;
}

ContextMemory make_context_memory(const std::shared_ptr<Device>& device, std::shared_ptr<MemoryManager> chosen,
                                  std::uint64_t limit) {
    if (!chosen) chosen = MemoryManager::open("system");
    std::shared_ptr<MemoryManager> standard;
    if (device) {
        const cleave_memory_manager* const made = device->make_memory_manager();
        if (made == nullptr) throw DeviceError(DeviceFault::kOutOfMemory, "device: no memory for its memory manager");
        standard = MemoryManager::adopt(*made);
    }
    auto* const manager = new DeviceMemoryManager(device, std::move(chosen), std::move(standard), limit);
    return {MemoryManager::adopt(manager->face()), manager};
}

}  // namespace cleave
