// Decides whether the stages of a job run on a device: always, or only if that is predicted to be faster. In the second
// case the device is opened only once it is chosen, because opening one takes some tenths of a second.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cleave/experimental/device_context.h"

namespace cleave {

// What is known about a device before it is opened.
struct DeviceProspect {
    double open_seconds = 0;      // how long opening it takes
    double seconds_per_byte = 0;  // for a stage, including all transfers; 0: not known, so the device is not used
    std::function<std::shared_ptr<DeviceContext>()> open;  // called once; may throw DeviceUnavailable and DeviceError
};

// Any thread may use it.
class DeviceChoice {
public:
    // Always uses the device of `context`, which must not be null. `seconds_per_byte` is as in DeviceProspect.
    explicit DeviceChoice(std::shared_ptr<DeviceContext> context, double seconds_per_byte = 0)
        : seconds_per_byte_(seconds_per_byte), context_(std::move(context)) {}
    // Uses the device if it is better.
    explicit DeviceChoice(DeviceProspect prospect)
        : seconds_per_byte_(prospect.seconds_per_byte), prospect_(std::move(prospect)) {}

    double seconds_per_byte() const noexcept { return seconds_per_byte_; }
    bool has_choice() const noexcept { return prospect_.has_value(); }
    // Whether the device is predicted to be at least kLeastGain times as fast as the CPU, which would take
    // `host_seconds` for `size` bytes; always true without a choice. The time to open the device counts until it has
    // been opened. The device is assumed to take at least `reading_per_byte` seconds per byte.
    bool is_better(std::uint64_t size, double host_seconds, double reading_per_byte = 0) const;
    // The context; the first call opens its device. Null if there is a choice but the device cannot be opened.
    std::shared_ptr<DeviceContext> open();
    // Adds a line to explain(): why the device was not used, or not to the end.
    void remark(const std::string& line);

    // What was decided and done, as a few lines of text, each ending in a line feed.
    std::string explain() const;

private:
    const double seconds_per_byte_;
    mutable std::mutex mutex_;
    const std::optional<DeviceProspect> prospect_;
    std::shared_ptr<DeviceContext> context_;  // guarded by mutex_, as are the members below
    bool is_tried_ = false;
    std::vector<std::string> remarks_;
};

}  // namespace cleave
