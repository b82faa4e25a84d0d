// Columns from and to values in host memory, for benchmarks and tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cuda/strings.h"

namespace cleave::cuda {

class Device;

using HostValue = std::optional<std::string>;  // nothing: null

// Copies values to the device. Waits for it. Throws ColumnTooLarge, CudaError and MemoryError.
DeviceStrings to_device(Device& device, const std::vector<HostValue>& values);
// The same, from a column in host memory that has no nulls. `offsets` are rows + 1, from 0 on.
DeviceStrings to_device(Device& device, const std::vector<std::int32_t>& offsets, const std::string& bytes);
// Copies values from the device. Waits for it.
std::vector<HostValue> to_host(Device& device, const StringsView& column);

}  // namespace cleave::cuda
