// The memory manager of a context: the one that the user chose, completed by that of the device, with a limit on the
// memory of the device. Counts what is in use.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "cleave/memory.h"
#include "memory/manager_base.h"
#include "offload/device.h"

namespace cleave {

class DeviceMemoryManager final : public ManagerBase {
public:
    // Memory of a space comes from `chosen` if that has it, else from `standard`, which may be null. At most `limit`
    // bytes of the device are given out; 0 is no limit. `device` may be null; it lives as long as this manager. The
    // name is that of `chosen`, with that of `standard` if that is needed.
    DeviceMemoryManager(std::shared_ptr<Device> device, std::shared_ptr<MemoryManager> chosen,
                        std::shared_ptr<MemoryManager> standard, std::uint64_t limit);

    std::uint64_t device_bytes_in_use() const noexcept { return in_use_.load(); }
    // Bytes of the device that can be had, as far as that is known.
    std::uint64_t available() noexcept;

    int allocate(cleave_memory_space space, std::size_t size, std::size_t alignment, std::uint32_t flags, void* stream,
                 cleave_memory& memory) noexcept override;
    int release(const cleave_memory& memory, void* stream) noexcept override;
    int info(cleave_memory_space space, std::uint64_t& free_size, std::uint64_t& total_size) noexcept override;
    int reset() noexcept override;

private:
    struct Given;

    // Null if no manager has memory of the space.
    const cleave_memory_manager* manager_of(cleave_memory_space space) const noexcept;

    const std::string name_;
    const std::shared_ptr<Device> device_;
    const std::shared_ptr<MemoryManager> chosen_;
    const std::shared_ptr<MemoryManager> standard_;
    const std::uint64_t limit_;
    std::atomic<std::uint64_t> in_use_{0};
};

// To be called by the handler of an exception after which something else than the memory would do. Throws the exception
// again if the manager has broken its promises: a plugin that does so is an error, never a lack of memory.
void rethrow_if_broken(const MemoryError& error);

// A manager as above, and the same as a MemoryManager, which owns it. Throws DeviceError if the device gives no
// manager, and MemoryManagerError.
struct ContextMemory {
    std::shared_ptr<MemoryManager> manager;
    DeviceMemoryManager* device = nullptr;
};
ContextMemory make_context_memory(const std::shared_ptr<Device>& device, std::shared_ptr<MemoryManager> chosen,
                                  std::uint64_t limit);

}  // namespace cleave
