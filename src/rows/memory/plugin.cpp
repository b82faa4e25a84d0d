#include "rows/memory/raw_manager.h"

#include <cstddef>
#include <cstring>

#include "base/module.h"
#include "cleave/memory.h"

namespace cleave {
namespace {

cleave_memory_manager_open_function open_function(const std::string& path) {
    try {
        return reinterpret_cast<cleave_memory_manager_open_function>(
            module_function(path, CLEAVE_MEMORY_MANAGER_SYMBOL));
    } catch (const ModuleError& error) {
        const std::string prefix = "memory manager " + path + ": ";
        if (error.is_trusted()) throw MemoryManagerError(prefix + error.what());
        throw MemoryManagerNameError(prefix + "not loaded: " + error.what());
    }
}

}  // namespace

const cleave_memory_manager* open_plugin(const std::string& path, const std::string& config) {
    const cleave_memory_manager_open_function open = open_function(path);
    ModuleMessage message;
    const cleave_memory_manager* manager = nullptr;
    const int error = open(config.c_str(), &manager, message.data(), message.size());
    if (error != 0) {
        const std::string why = message.text();
        throw MemoryManagerError("memory manager " + path +
                                 ": cannot start: " + (why.empty() ? std::strerror(error) : why));
    }
    if (manager == nullptr) throw MemoryManagerError("memory manager " + path + ": returned no manager");
    check_version(*manager, path);
    return manager;
}

// Managers built with the first header of version 1 end before open_ipc().
void check_version(const cleave_memory_manager& manager, const std::string& origin) {
    const std::string prefix = "memory manager " + origin + ": ";
    const std::string fault = table_fault(&manager, CLEAVE_MEMORY_MANAGER_VERSION,
                                          offsetof(cleave_memory_manager, open_ipc), "cleave_memory_manager");
    if (!fault.empty()) throw MemoryManagerError(prefix + fault);
    const bool has_all = manager.name != nullptr && manager.initialize != nullptr && manager.allocate != nullptr &&
                         manager.release != nullptr && manager.reset != nullptr && manager.destroy != nullptr;
    const auto agrees = [&](std::uint32_t capability, bool is_there) {
        return ((manager.capabilities & capability) != 0) == is_there;
    };
    const bool begins = manager.defer_cleanup_begin != nullptr;
    const bool ends = manager.defer_cleanup_end != nullptr;
    const bool opens = manager.struct_size >= sizeof manager && manager.open_ipc != nullptr;
    if (!has_all) throw MemoryManagerError(prefix + "lacks a member that every manager has");
    if (!agrees(CLEAVE_MEMORY_CAN_PIN, manager.pin != nullptr) ||
        !agrees(CLEAVE_MEMORY_CAN_INFO, manager.info != nullptr) ||
        !agrees(CLEAVE_MEMORY_CAN_EXPORT, manager.export_ipc != nullptr) || !agrees(CLEAVE_MEMORY_CAN_DEFER, begins) ||
        !agrees(CLEAVE_MEMORY_CAN_DEFER, ends) || !agrees(CLEAVE_MEMORY_CAN_OPEN, opens)) {
        throw MemoryManagerError(prefix + "its capabilities do not agree with its members");
    }
}

}  // namespace cleave
