// What an error of CUDA means to the runtime of cleave/offload.h.
#pragma once

#include <cuda_runtime.h>

#include "cleave/device.h"

namespace cleave::cuda {

// Clears the error, as far as that is possible: no later call of this thread returns it. The card is current.
//
// kLost: the error stays. CUDA has no list of such errors, so this tries two calls that cannot fail otherwise, and
// waits for the card. The idea is that of cudf/utilities/error.hpp of libcudf.
DeviceFault fault_of(cudaError_t error) noexcept;

}  // namespace cleave::cuda
