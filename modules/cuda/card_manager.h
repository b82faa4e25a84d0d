// The memory manager that a device provides to a context.
#pragma once

#include <memory>
#include <string>

#include "cleave/memory_manager.h"
#include "cuda/streams.h"

namespace cleave::cuda {

// Device memory comes from make_manager(name), pinned and mapped memory from "pinned-pool". Each call makes the card of
// the streams current. The manager keeps the streams alive. The caller must call destroy(). Throws MemoryManagerError
// and std::bad_alloc.
const cleave_memory_manager& make_card_manager(const std::string& name, std::shared_ptr<Streams> streams);

}  // namespace cleave::cuda
