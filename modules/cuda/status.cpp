#include "cuda/status.h"

namespace cleave::cuda {

DeviceFault fault_of(cudaError_t error) noexcept {
    if (error == cudaSuccess) return DeviceFault::kNone;
    cudaGetLastError();
    if (error == cudaErrorMemoryAllocation) return DeviceFault::kOutOfMemory;
    const bool stays = cudaFree(nullptr) == error && cudaDeviceSynchronize() == error;
    cudaGetLastError();
    return stays ? DeviceFault::kLost : DeviceFault::kFailed;
}

}  // namespace cleave::cuda
