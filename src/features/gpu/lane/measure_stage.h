// Measures how fast a stage runs on a device, for the profile of the machine.
#pragma once

#include <memory>

#include "cleave/experimental/device_context.h"

namespace cleave {

struct MeasuredStage {
    double start_seconds = 0;     // how much longer the first pages took than later ones
    double seconds_per_byte = 0;  // for later pages, including transfers; 0 if the device has no stages
};

// Masks a column of synthetic records with the context's device and `threads` threads. Takes less than half a second on
// a fast device. Throws DeviceError and MemoryError.
MeasuredStage measure_stage(const std::shared_ptr<DeviceContext>& context, unsigned threads);

// Does the same with a few small pages, without measuring.
void run_stage(const std::shared_ptr<DeviceContext>& context, unsigned threads);

}  // namespace cleave
