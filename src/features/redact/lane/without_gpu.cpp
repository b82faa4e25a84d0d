// In place of devices.
#include "cleave/error.h"
#include "features/redact/lane/device_lane.h"

namespace cleave {

// NOLINTNEXTLINE(performance-unnecessary-value-param): a lane keeps the memory manager
std::unique_ptr<DeviceLane> make_device_lane(const Stage& /*stage*/, const Kernel& /*kernel*/, DeviceChoice& /*choice*/,
                                             std::shared_ptr<MemoryManager> /*memory*/,
                                             const DeviceLane::Options& /*options*/) {
    throw ArgumentError("this build of cleave does not know devices");
}

}  // namespace cleave
