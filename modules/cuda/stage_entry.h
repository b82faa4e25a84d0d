// The entry point of features/gpu/lane/device_stage.h.
#pragma once

#include "features/gpu/lane/device_stage.h"

namespace cleave::cuda {

extern const DeviceStageEntry kStageEntry;

}  // namespace cleave::cuda
