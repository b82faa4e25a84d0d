// Devices from shared libraries.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "offload/device.h"

namespace cleave {

// Where the module of a GPU is looked for, the first place first: beside this library, and in the configured folder.
std::vector<std::string> module_paths();

// Loads the first module of `paths` that exists, and opens a device. The module stays loaded until the process ends.
// Throws DeviceUnavailable.
std::shared_ptr<Device> open_module(const std::vector<std::string>& paths, const std::string& config);

}  // namespace cleave
