// How fast a stage is on a device, for the profile of the machine.
#pragma once

#include <memory>

#include "cleave/device_context.h"

namespace cleave {

struct MeasuredStage {
    double start_seconds = 0;     // that the first pages took more than later ones
    double seconds_per_byte = 0;  // of later ones, with all moves; 0 if the device has no stages
};

// Masks a column of records that are made for this, with the context's device and `threads` threads. Takes less than
// half a second on a device for which that is fast. Throws DeviceError and MemoryError.
MeasuredStage measure_stage(const std::shared_ptr<DeviceContext>& context, unsigned threads);

// Does so with a few small pages, and measures nothing.
void run_stage(const std::shared_ptr<DeviceContext>& context, unsigned threads);

}  // namespace cleave
