// Streams of pages, and what a context reports about itself.
#include "cleave/experimental/device_context.h"

#include <algorithm>
#include <utility>

#include "features/gpu/core.h"
#include "features/gpu/explain.h"
#include "features/gpu/pager.h"
#include "features/gpu/segment.h"

namespace cleave {
namespace offload {
namespace {

// The predicted seconds per page. The copy to pinned memory, the copies in, the bodies and the copies out of different
// pages overlap, so only the slowest of these counts. Returns std::nullopt if that cannot be predicted.
std::optional<double> device_seconds(Core& core, const Function& function, const void* page)
    CLEAVE_REQUIRES(core.mutex) {
    const TypeOperations& type = *function.arguments.front();
    const std::uint64_t in = type.bytes(page);
    const auto body = core.rates.predict(function, Side::kDevice, static_cast<double>(in));
    if (!body || !core.options.profile) return std::nullopt;
    const std::uint64_t out = function.cost.result_bytes ? function.cost.result_bytes({&in, 1}) : in;
    const MachineProfile& profile = *core.options.profile;
    const double gathered = type.is_pinned(page) ? 0 : profile.host_copy.seconds(static_cast<double>(in));
    return std::max({*body + profile.launch, gathered, *core.move_seconds(Side::kDevice, true, in),
                     *core.move_seconds(Side::kHost, true, out)});
}

bool is_better(const std::optional<double>& device, const std::optional<double>& host) {
    return host && device && *device * kLeastGain <= *host;
}

// Applies one function to pages that arrive one by one. This thread must be using the core.
class PageStream {
public:
    PageStream(Core& core, const Function& function, const std::function<void(const void*)>& sink)
        : core_(core), function_(function), sink_(sink), times_(1) {
        segment_.types = {function.arguments.front(), function.result};
        segment_.steps.push_back({&function, {0}, 1, {}});
        segment_.split_inputs = {0};
        segment_.outputs = {1};
    }

    void run(const std::function<Value()>& next) {
        core_.mutex.assert_held();
        Value page = next();
        if (!page) return;
        const double begin = core_.clock->seconds();
        NodeReport report;
        report.name = function_.name;
        report.side = place(page, report.predicted);
        if (report.side == Side::kDevice) {
            run_on_device(std::move(page), next, report);
        } else {
            run_on_host(std::move(page), next, report);
        }
        report.taken = core_.clock->seconds() - begin;
        for (const StepTimes::Sample& sample : times_.front().samples) {
            const auto bytes = static_cast<double>(sample.bytes);
            core_.rates.add(function_, sample.side, bytes, sample.seconds, ++core_.runs);  // a page is a run
        }
        if (report.predicted) *report.predicted *= static_cast<double>(report.pages);
        report.bytes_in = times_.front().bytes_in;
        report.bytes_out = times_.front().bytes_out;
        core_.report.push_back(std::move(report));
    }

private:
    // Decides from the predicted time of the first page.
    Side place(const Value& page, std::optional<double>& predicted) CLEAVE_REQUIRES(core_.mutex) {
        const std::uint64_t bytes = function_.arguments.front()->bytes(page.get());
        const auto host = core_.rates.predict(function_, Side::kHost, static_cast<double>(bytes));
        const char* const reason = core_.reason_for_host();
        if (reason != nullptr && core_.options.policy == DevicePolicy::kAuto) {
            core_.remarks.push_back(std::string("the device is not used: ") + reason);
        }
        predicted = host;
        if (reason != nullptr || !function_.device) return Side::kHost;
        const std::optional<double> device = device_seconds(core_, function_, page.get());
        if (core_.options.policy == DevicePolicy::kAuto && !is_better(device, host)) return Side::kHost;
        predicted = device;
        return Side::kDevice;
    }

    void run_on_host(Value page, const std::function<Value()>& next, NodeReport& report) {
        for (; page; page = next()) {
            std::vector<Value> slots{page, nullptr};
            offload::run_on_host(segment_, slots, std::nullopt, *core_.memory.manager, *core_.clock, times_);
            sink_(slots[1].get());
            ++report.pages;
        }
    }

    void run_on_device(Value page, const std::function<Value()>& next, NodeReport& report) {
        PagerOptions options;
        options.page_units = UINT64_MAX;
        options.may_use_host = core_.options.policy == DevicePolicy::kAuto;
        Pager pager(core_, segment_, options, times_,
                    [this](std::vector<Value>& results) { sink_(results.front().get()); });
        const TypeOperations& type = *function_.arguments.front();
        for (; page; page = next()) {
            const std::uint64_t units = type.can_split && function_.cost.by_parts ? type.size(page.get()) : 1;
            pager.push({{std::move(page)}, 0, units, units});
        }
        pager.finish();
        report.pages = pager.pages();
        report.note = pager.note();
    }

    Core& core_;
    const Function& function_;
    const std::function<void(const void*)>& sink_;
    Segment segment_;
    std::vector<StepTimes> times_;
};

}  // namespace
}  // namespace offload

DeviceContext::DeviceContext(const ContextOptions& options) : core_(std::make_shared<offload::Core>(options)) {}

void DeviceContext::stream_values(const std::shared_ptr<const offload::Function>& function,
                                  const std::function<offload::Value()>& next,
                                  const std::function<void(const void*)>& sink) {
    const offload::Core::Use use(*core_);
    core_->report.clear();
    core_->remarks.clear();
    offload::PageStream(*core_, *function, sink).run(next);
}

std::shared_ptr<Memory> DeviceContext::borrow_pinned(std::size_t size) { return core_->blocks->take(size); }

std::vector<NodeReport> DeviceContext::report() const {
    const offload::Core::Use use(*core_);
    return core_->report;
}

std::string DeviceContext::explain() const {
    const offload::Core::Use use(*core_);
    return offload::explain(core_->remarks, core_->report);
}

std::optional<MachineProfile> DeviceContext::profile() const {
    const offload::Core::Use use(*core_);
    std::optional<MachineProfile> profile = core_->options.profile;
    if (!profile) return profile;
    profile->functions = core_->rates.all();
    profile->ordinary_in = core_->ordinary_in.rate().value_or(profile->ordinary_in);
    return profile;
}

std::uint64_t DeviceContext::device_memory_in_use() const { return core_->memory.device->device_bytes_in_use(); }

}  // namespace cleave
