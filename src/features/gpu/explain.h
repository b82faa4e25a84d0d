// Describes an evaluation as text.
#pragma once

#include <span>
#include <string>

#include "cleave/experimental/device_context.h"

namespace cleave::offload {

// "1.25 ms"
std::string text_of_seconds(double seconds);
// "3.5 MiB"
std::string text_of_bytes(std::uint64_t bytes);

// Returns a line for each remark and one for each function:
//   multiply: device, predicted 1.2 ms, took 1.3 ms, 8 MiB in, 8 MiB out, 12 pages; too little memory on the device
std::string explain(std::span<const std::string> remarks, std::span<const NodeReport> report);

}  // namespace cleave::offload
