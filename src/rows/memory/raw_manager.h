// Managers as they are, before MemoryManager completes them. The conformance suite tests them in this form.
#pragma once

#include <memory>
#include <string>

#include "cleave/memory.h"
#include "cleave/memory_manager.h"

namespace cleave {

struct RawManager {
    std::unique_ptr<const cleave_memory_manager, DestroyManager> manager;
    const PoolManager* pool;  // the object behind `manager` if that is a pool, otherwise nullptr
};

// `name` is as for MemoryManager::open(). The manager is not initialized. Throws MemoryManagerError and
// MemoryManagerNameError.
RawManager open_raw_manager(const std::string& name);

// Managers from shared libraries.

// Loads the library at the absolute `path` and creates a manager. The library stays loaded until the process ends,
// because threads that used it may run its code as they exit. Throws MemoryManagerNameError if someone else could have
// written the library (see load_library()). Throws MemoryManagerError if it cannot be loaded, if it has no
// cleave_memory_manager_open(), if that function fails, or if its manager fails check_version().
const cleave_memory_manager* open_plugin(const std::string& path, const std::string& config);

// Throws MemoryManagerError if the manager has a different version of the interface or lacks a required member.
// `origin` is what messages call the manager.
void check_version(const cleave_memory_manager& manager, const std::string& origin);

}  // namespace cleave
