// Managers from shared libraries.
#pragma once

#include <string>
#include <string_view>

#include "cleave/memory_manager.h"

namespace cleave {

// Loads the library at `path`, which is absolute, and makes a manager. The library stays loaded until the process ends:
// threads that used it may still have to end in it. Throws MemoryManagerNameError: somebody else could have written it,
// see load_library(). Throws MemoryManagerError: it cannot be loaded, it has no cleave_memory_manager_open(), or that
// fails or gives a manager that fails check_version().
const cleave_memory_manager* open_plugin(const std::string& path, const std::string& config);

// Throws MemoryManagerError if the manager is of another version of the interface, or lacks a member that must be
// there. `origin` names it in messages.
void check_version(const cleave_memory_manager& manager, const std::string& origin);

// A text of a plugin, for messages: control characters as \xHH.
std::string printable(std::string_view text);

}  // namespace cleave
