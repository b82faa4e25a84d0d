// A context's memory manager: the one that the user chose, supplemented with the device's, and with a limit on device
// memory. Counts the memory in use.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "cleave/memory.h"
#include "features/gpu/device.h"
#include "rows/memory/manager_base.h"

namespace cleave {

class DeviceMemoryManager final : public ManagerBase {
public:
    // Memory of a space comes from `chosen` if it has that space, and otherwise from `standard`, which may be null. At
    // most `limit` bytes of device memory are handed out; 0 means no limit. `device` may be null; otherwise, this
    // manager keeps it alive. The manager is named after `chosen`, and also after `standard` if that is used too.
    DeviceMemoryManager(std::shared_ptr<Device> device, std::shared_ptr<MemoryManager> chosen,
                        std::shared_ptr<MemoryManager> standard, std::uint64_t limit);

    std::uint64_t device_bytes_in_use() const noexcept { return in_use_.load(); }
    // How many bytes of device memory are available, as far as is known.
    std::uint64_t available() noexcept;

    int allocate(cleave_memory_space space, std::size_t size, std::size_t alignment, std::uint32_t flags, void* stream,
                 cleave_memory& memory) noexcept override;
    int release(const cleave_memory& memory, void* stream) noexcept override;
    int info(cleave_memory_space space, std::uint64_t& free_size, std::uint64_t& total_size) noexcept override;
    int reset() noexcept override;

private:
    struct Given;

    // Null if no manager serves the space.
    const cleave_memory_manager* manager_of(cleave_memory_space space) const noexcept;

    const std::string name_;
    const std::shared_ptr<Device> device_;
    const std::shared_ptr<MemoryManager> chosen_;
    const std::shared_ptr<MemoryManager> standard_;
    const std::uint64_t limit_;
    std::atomic<std::uint64_t> in_use_{0};
};

// Call from a catch block whose error can be worked around without this memory. Rethrows the exception if the manager
// has broken its contract, because that is a bug in a plugin and not a lack of memory.
void rethrow_if_broken(const MemoryError& error);

// Creates a manager as above, together with a MemoryManager that owns it. Throws MemoryManagerError, and DeviceError if
// the device does not provide a manager.
struct ContextMemory {
    std::shared_ptr<MemoryManager> manager;
    DeviceMemoryManager* device = nullptr;
};
ContextMemory make_context_memory(const std::shared_ptr<Device>& device, std::shared_ptr<MemoryManager> chosen,
                                  std::uint64_t limit);

}  // namespace cleave
