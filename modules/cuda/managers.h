// Memory managers of a device, for cleave/memory.h. All device memory and all pinned memory of this module come from a
// manager.
//
//   cuda         cudaMalloc and cudaFree. Both wait for the device, and cost 10 to 1000 times as much as a pool.
//   cuda-async   CUDA's stream-ordered memory pool. It keeps freed memory until memory runs out. Pinned memory
//                comes from cudaHostAlloc, as with "cuda".
//   cuda-pool    cleave's pool over "cuda". cuda-pool:SIZE uses regions of that size.
//   pinned-pool  cleave's pool over the pinned memory of "cuda"; it has no device memory. pinned-pool:SIZE likewise.
//
// Secret device memory is zeroed when it is released.
//
// cuda puts off cudaFree and cudaFreeHost as described in rows/memory/deferred_releases.h, measured against all bytes
// of the card: so the device waits once for eleven releases. cuda-async does that with pinned memory only, because
// CUDA's pool takes device memory back without waiting. The pools take everything back at once; what is deferred is the
// release of their regions, which happens only when memory runs out.
//
// All four pin memory (cudaHostRegister), and unpin it when it is released. A pin with the flag "mapped" is refused
// where the card uses another address than the CPU.
//
// cuda and cuda-pool let another process map device memory (export_ipc, open_ipc). That process sees the whole CUDA
// allocation: with cuda-pool, a region and everything in it; with cuda, possibly other small allocations that CUDA has
// placed next to it.
#pragma once

#include <memory>
#include <string>

#include "cleave/memory.h"

namespace cleave::cuda {

// `name` is one of the names above. Memory comes from the device that is current at the time of the request, except
// that cuda-async stays with the device of its first request. The caller must call destroy(). Throws
// MemoryManagerError.
const cleave_memory_manager& make_manager(const std::string& name);

// The same manager as a MemoryManager, which owns it.
std::shared_ptr<MemoryManager> open_manager(const std::string& name);

}  // namespace cleave::cuda
