// Devices from shared libraries.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "features/gpu/device.h"

namespace cleave {

// Loads the first existing module of `paths` and opens a device. The module stays loaded until the process ends. Throws
// DeviceUnavailable.
std::shared_ptr<Device> open_module(const std::vector<std::string>& paths, const std::string& config);

}  // namespace cleave
