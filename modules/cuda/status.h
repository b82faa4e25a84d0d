// What a CUDA error means to the runtime of cleave/experimental/offload.h.
#pragma once

#include <cuda_runtime.h>

#include "cleave/experimental/device.h"

namespace cleave::cuda {

// Clears the error if possible, so that no later call of this thread returns it. Precondition: the card is current.
//
// kLost means that the error persists. CUDA does not list such errors, so this tries two calls that cannot fail
// otherwise, and waits for the card. The idea comes from cudf/utilities/error.hpp in libcudf.
inline DeviceFault fault_of(cudaError_t error) noexcept {
    if (error == cudaSuccess) return DeviceFault::kNone;
    cudaGetLastError();
    if (error == cudaErrorMemoryAllocation) return DeviceFault::kOutOfMemory;
    const bool stays = cudaFree(nullptr) == error && cudaDeviceSynchronize() == error;
    cudaGetLastError();
    return stays ? DeviceFault::kLost : DeviceFault::kFailed;
}

}  // namespace cleave::cuda
