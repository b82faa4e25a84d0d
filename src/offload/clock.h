// The time by which a device is measured.
#pragma once

#include "offload/device.h"

namespace cleave {

// The device's own clock, else that of the host. `device` may be null.
const Clock& clock_of(const Device* device);

}  // namespace cleave
