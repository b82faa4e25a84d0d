// Memory managers of a device, for cleave/memory.h. All device memory and all pinned memory of this module comes from a
// manager.
//
//   cuda         cudaMalloc and cudaFree. Both wait for the device, and cost 10 to 1000 times what a pool costs.
//   cuda-async   a memory pool of CUDA, in the order of streams. It keeps what was freed until memory runs out. Pinned
//                memory as above.
//   cuda-pool    the pool of cleave over "cuda". cuda-pool:SIZE has regions of that size.
//   pinned-pool  the pool of cleave over the pinned memory of "cuda": it has no memory of the device. pinned-pool:SIZE
//   as
//                above.
//
// Secret memory of the device is zeroed when it is released.
//
// cuda and cuda-pool let another process map memory of the device (export_ipc). It gets the whole allocation of CUDA:
// with cuda-pool a region and all that lies in it, with cuda perhaps other small memory that CUDA has put beside it.
#pragma once

#include <memory>
#include <string>

#include "cleave/memory.h"

namespace cleave::cuda {

// `name` is one of those above. The device is the one that is current when memory is asked for; cuda-async stays with
// that of the first request. The caller calls destroy(). Throws MemoryManagerError.
const cleave_memory_manager& make_manager(const std::string& name);

// The same manager, completed and owned.
std::shared_ptr<MemoryManager> open_manager(const std::string& name);

}  // namespace cleave::cuda
