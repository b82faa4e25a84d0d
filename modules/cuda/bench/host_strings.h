// Converts columns to and from values in host memory, for benchmarks and tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cuda/strings.h"

namespace cleave::cuda {

class Device;

using HostValue = std::optional<std::string>;  // std::nullopt: null

// Copies values to the device and waits for the copy. Throws ColumnTooLarge, CudaError and MemoryError.
DeviceStrings to_device(Device& device, const std::vector<HostValue>& values);
// The same, from a column in host memory that has no nulls. `offsets` has rows + 1 elements, the first of which is 0.
DeviceStrings to_device(Device& device, const std::vector<std::int32_t>& offsets, const std::string& bytes);
// Waits for the device and copies values from it.
std::vector<HostValue> to_host(Device& device, const StringsView& column);

}  // namespace cleave::cuda
