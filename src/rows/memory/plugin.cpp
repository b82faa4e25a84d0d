#include "rows/memory/plugin.h"

#include <dlfcn.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "base/printable.h"
#include "base/shared_library.h"
#include "cleave/memory.h"

namespace cleave {
namespace {

// Exiting threads may still call the library's code, so it is never closed.
void* load(const std::string& path) {
    const std::string prefix = "memory manager " + path + ": ";
    try {
        return load_library(path);
    } catch (const UntrustedLibrary& error) {
        throw MemoryManagerNameError(prefix + "not loaded: " + error.what());
    } catch (const std::system_error& error) {
        throw MemoryManagerError(prefix + error.code().message());
    } catch (const std::runtime_error& error) {
        throw MemoryManagerError(prefix + error.what());
    }
}

}  // namespace

const cleave_memory_manager* open_plugin(const std::string& path, const std::string& config) {
    void* const library = load(path);
    const auto open =
        reinterpret_cast<cleave_memory_manager_open_function>(::dlsym(library, CLEAVE_MEMORY_MANAGER_SYMBOL));
    if (open == nullptr) {
        throw MemoryManagerError("memory manager " + path + ": has no function " CLEAVE_MEMORY_MANAGER_SYMBOL);
    }
    std::array<char, 256> message{};
    const cleave_memory_manager* manager = nullptr;
    const int error = open(config.c_str(), &manager, message.data(), message.size());
    message.back() = 0;
    if (error != 0) {
        const std::string why = message.front() != 0 ? printable(message.data()) : std::strerror(error);
        throw MemoryManagerError("memory manager " + path + ": cannot start: " + why);
    }
    if (manager == nullptr) throw MemoryManagerError("memory manager " + path + ": returned no manager");
    check_version(*manager, path);
    return manager;
}

void check_version(const cleave_memory_manager& manager, const std::string& origin) {
    const std::string prefix = "memory manager " + origin + ": ";
    if (manager.interface_version != CLEAVE_MEMORY_MANAGER_VERSION) {
        throw MemoryManagerError(prefix + "is for version " + std::to_string(manager.interface_version) +
                                 " of the interface, not " + std::to_string(CLEAVE_MEMORY_MANAGER_VERSION));
    }
    if (manager.struct_size < sizeof(cleave_memory_manager)) {
        throw MemoryManagerError(prefix + "its cleave_memory_manager has " + std::to_string(manager.struct_size) +
                                 " bytes, not " + std::to_string(sizeof(cleave_memory_manager)));
    }
    const bool has_all = manager.name != nullptr && manager.initialize != nullptr && manager.allocate != nullptr &&
                         manager.release != nullptr && manager.reset != nullptr && manager.destroy != nullptr;
    const auto agrees = [&](std::uint32_t capability, bool is_there) {
        return ((manager.capabilities & capability) != 0) == is_there;
    };
    const bool begins = manager.defer_cleanup_begin != nullptr;
    const bool ends = manager.defer_cleanup_end != nullptr;
    if (!has_all) throw MemoryManagerError(prefix + "lacks a member that every manager has");
    if (!agrees(CLEAVE_MEMORY_CAN_PIN, manager.pin != nullptr) ||
        !agrees(CLEAVE_MEMORY_CAN_INFO, manager.info != nullptr) ||
        !agrees(CLEAVE_MEMORY_CAN_EXPORT, manager.export_ipc != nullptr) || !agrees(CLEAVE_MEMORY_CAN_DEFER, begins) ||
        !agrees(CLEAVE_MEMORY_CAN_DEFER, ends)) {
        throw MemoryManagerError(prefix + "its capabilities do not agree with its members");
    }
}

}  // namespace cleave
