#include "cleave/experimental/device_choice.h"

#include <algorithm>

namespace cleave {

bool DeviceChoice::is_better(std::uint64_t size, double host_seconds, double reading_per_byte) const {
    if (!prospect_) return true;
    if (seconds_per_byte_ <= 0) return false;
    double seconds = std::max(seconds_per_byte_, reading_per_byte) * static_cast<double>(size);
    const std::scoped_lock lock(mutex_);
    if (!is_tried_) seconds += prospect_->open_seconds;
    return seconds * kLeastGain <= host_seconds;
}

std::shared_ptr<DeviceContext> DeviceChoice::open() {
    const std::scoped_lock lock(mutex_);
    if (!prospect_ || is_tried_) return context_;
    is_tried_ = true;
    try {
        context_ = prospect_->open();
    } catch (const DeviceUnavailable& unavailable) {
        remarks_.emplace_back(unavailable.what());
    } catch (const DeviceError& error) {
        remarks_.emplace_back(error.what());
    }
    return context_;
}

void DeviceChoice::remark(const std::string& line) {
    const std::scoped_lock lock(mutex_);
    remarks_.push_back(line);
}

std::string DeviceChoice::explain() const {
    std::shared_ptr<DeviceContext> context;
    std::vector<std::string> remarks;
    {
        // The lock is not held while the context is asked, because a thread that uses the context may be waiting for
        // it.
        const std::scoped_lock lock(mutex_);
        context = context_;
        remarks = remarks_;
    }
    std::string text = context ? context->explain() : "";
    for (const std::string& remark : remarks) text += remark + '\n';
    return text;
}

}  // namespace cleave
