// Gives a column in device memory offsets of the other width.
#pragma once

#include "cuda/strings.h"

namespace cleave::cuda {

class Device;

// Makes the column large, or no longer large. Does nothing if it is so already. Otherwise the new offsets are ordered
// on the stream of the device. If this throws, the column is unchanged: ColumnTooLarge if it must be large to fit,
// CudaError and MemoryError.
void set_large(Device& device, DeviceStrings& column, bool is_large);

}  // namespace cleave::cuda
