// The clock that a device is measured with.
#pragma once

#include "features/gpu/device.h"

namespace cleave {

// The device's own clock, or else the host's. `device` may be null.
const Clock& clock_of(const Device* device);

}  // namespace cleave
