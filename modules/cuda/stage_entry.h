// The entry point of stage/device_stage.h.
#pragma once

#include "stage/device_stage.h"

namespace cleave::cuda {

extern const DeviceStageEntry kStageEntry;

}  // namespace cleave::cuda
