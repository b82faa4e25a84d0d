// Memory managers from shared libraries.
#pragma once

#include <string>

#include "cleave/memory_manager.h"

namespace cleave {

// Loads the library at the absolute `path` and creates a manager. The library stays loaded until the process ends,
// because threads that used it may run its code as they exit. Throws MemoryManagerNameError if someone else could have
// written the library (see load_library()). Throws MemoryManagerError if it cannot be loaded, if it has no
// cleave_memory_manager_open(), if that function fails, or if its manager fails check_version().
const cleave_memory_manager* open_plugin(const std::string& path, const std::string& config);

// Throws MemoryManagerError if the manager has a different version of the interface or lacks a required member.
// `origin` is what messages call the manager.
void check_version(const cleave_memory_manager& manager, const std::string& origin);

}  // namespace cleave
