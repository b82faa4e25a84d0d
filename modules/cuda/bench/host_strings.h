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

// Copies values to the device and waits for the copy. The column is large if Offset has 64 bits. Throws ColumnTooLarge,
// CudaError and MemoryError.
template <class Offset = std::int32_t>
DeviceStrings to_device(Device& device, const std::vector<HostValue>& values);
// The same, from a column in host memory that has no nulls. `offsets` has rows + 1 elements, the first of which is 0.
template <class Offset>
DeviceStrings to_device(Device& device, const std::vector<Offset>& offsets, const std::string& bytes);
// Waits for the device and copies values from it.
std::vector<HostValue> to_host(Device& device, const StringsView& column);

}  // namespace cleave::cuda
