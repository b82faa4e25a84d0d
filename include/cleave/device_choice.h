// Whether the stages of a job run on a device. It is taken always, or if that is predicted to be faster; in the second
// case it is opened only then: to open a device takes some tenths of a second.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cleave/device_context.h"

namespace cleave {

// Runs of records that the CPU takes at least before a device is taken because it is better. A run is a block, but no
// more than 256 KiB.
constexpr std::uint64_t kRunsBeforeDevice = 272;

// What is known of a device before it is opened.
struct DeviceProspect {
    double open_seconds = 0;      // that it takes to open it
    double seconds_per_byte = 0;  // of a stage, with all moves; 0: not known, and it is not taken
    std::function<std::shared_ptr<DeviceContext>()> open;  // called once; may throw DeviceUnavailable and DeviceError
};

// Any thread may use it.
class DeviceChoice {
public:
    // The device of `context`, which is not null, is always taken. `seconds_per_byte` is as in DeviceProspect.
    explicit DeviceChoice(std::shared_ptr<DeviceContext> context, double seconds_per_byte = 0)
        : seconds_per_byte_(seconds_per_byte), context_(std::move(context)) {}
    // The device is taken if it is better.
    explicit DeviceChoice(DeviceProspect prospect)
        : seconds_per_byte_(prospect.seconds_per_byte), prospect_(std::move(prospect)) {}

    double seconds_per_byte() const noexcept { return seconds_per_byte_; }
    bool has_choice() const noexcept { return prospect_.has_value(); }
    // Whether the device is predicted to be kLeastGain times as fast as the CPU, which would take `host_seconds` for
    // `size` bytes. The time to open the device counts until it is open. The device is not faster than
    // `reading_per_byte`, in seconds.
    bool is_better(std::uint64_t size, double host_seconds, double reading_per_byte = 0) const;
    // The context; the first call opens its device. Null if there is a choice and the device cannot be opened.
    std::shared_ptr<DeviceContext> open();
    // Adds a line to explain(): why the device was not used, or not to the end.
    void remark(const std::string& line);

    // What was done, in a few lines of text, each with a line feed.
    std::string explain() const;

private:
    const double seconds_per_byte_;
    mutable std::mutex mutex_;
    const std::optional<DeviceProspect> prospect_;
    std::shared_ptr<DeviceContext> context_;  // guarded by mutex_, as all that follows
    bool is_tried_ = false;
    std::vector<std::string> remarks_;
};

}  // namespace cleave
