// The memory manager that a context gets from a device.
#pragma once

#include <memory>
#include <string>

#include "cleave/memory_manager.h"
#include "cuda/streams.h"

namespace cleave::cuda {

// Memory of the device comes from make_manager(name), pinned and mapped memory from its "pinned-pool". Each call makes
// the card of the streams current. The streams live as long as the manager. The caller calls destroy(). Throws
// MemoryManagerError and std::bad_alloc.
const cleave_memory_manager& make_card_manager(const std::string& name, std::shared_ptr<Streams> streams);

}  // namespace cleave::cuda
