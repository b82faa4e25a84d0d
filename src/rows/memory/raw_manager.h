// Managers as they are, before MemoryManager completes them. The conformance suite tests them in this form.
#pragma once

#include <memory>
#include <string>

#include "cleave/memory.h"

namespace cleave {

struct RawManager {
    std::unique_ptr<const cleave_memory_manager, DestroyManager> manager;
    const PoolManager* pool;  // the object behind `manager` if that is a pool, otherwise nullptr
};

// `name` is as for MemoryManager::open(). The manager is not initialized. Throws MemoryManagerError and
// MemoryManagerNameError.
RawManager open_raw_manager(const std::string& name);

}  // namespace cleave
