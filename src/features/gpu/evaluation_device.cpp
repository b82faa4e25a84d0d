// Runs a group of nodes on the device as a whole, or else page by page, or else on the host.
#include <algorithm>
#include <utility>

#include "features/gpu/evaluation.h"

namespace cleave::offload {
namespace {

constexpr std::uint64_t kPagesInMemory = 3;
constexpr const char* kTooLittle = "too little memory on the device";

std::uint64_t divide_up(std::uint64_t bytes, std::uint64_t units) {
    return bytes / units + (bytes % units != 0 ? 1 : 0);
}

}  // namespace

void Evaluation::run_group(const std::vector<std::size_t>& items) {
    for (const std::size_t item : items) start_report(item, Side::kDevice);
    Plan plan = make_plan(items);
    const bool may_use_host = core_.options.policy == DevicePolicy::kAuto;
    const bool seems_to_fit = peak_bytes(plan) <= core_.memory.device->available();
    if ((seems_to_fit || plan.units == 0) && run_as_whole(plan)) return;
    if (plan.units > 0) {
        try {
            return run_in_pages(plan);
        } catch (const DeviceError& error) {
            if (error.fault() != DeviceFault::kOutOfMemory || !may_use_host) throw;
            if (has_submitted_) settle(core_.stream());
        }
    } else if (!may_use_host) {
        throw DeviceError(DeviceFault::kOutOfMemory, "device: too little memory for '" +
                                                         plan.segment.steps.front().function->name +
                                                         "', which cannot run page by page");
    }
    run_plan_on_host(plan, kTooLittle);
}

// Estimates how many bytes of device memory the plan needs to run as a whole.
std::uint64_t Evaluation::peak_bytes(const Plan& plan) const {
    const Segment& segment = plan.segment;
    std::uint64_t now = 0;
    const auto needs_memory = [&](std::size_t slot) { return segment.types[slot]->can_move; };
    for (const auto* inputs : {&segment.inputs, &segment.split_inputs}) {
        for (const std::size_t slot : *inputs) {
            if (needs_memory(slot) && !items_[plan.of_slot[slot]].device) now += plan.bytes[slot];
        }
    }
    std::uint64_t peak = now;
    for (const Step& step : segment.steps) {
        if (needs_memory(step.result)) now += plan.bytes[step.result];
        peak = std::max(peak, now);
        for (const std::size_t slot : step.last_uses) now -= needs_memory(slot) ? plan.bytes[slot] : 0;
    }
    return peak;
}

// Returns false and changes nothing if the device has too little memory.
bool Evaluation::run_as_whole(Plan& plan) {
    const Segment& segment = plan.segment;
    std::vector<Value> slots(segment.slots());
    std::vector<StepTimes> times(segment.steps.size());
    std::vector<std::size_t> moved;  // items that had no value on the device
    try {
        for (std::size_t step = 0; step < segment.steps.size(); ++step) {
            for (const std::size_t slot : segment.steps[step].arguments) {
                const std::size_t item = plan.of_slot[slot];
                if (std::ranges::count(plan.items, item) > 0) continue;
                if (!items_[item].device) moved.push_back(item);
                slots[slot] = device_value_of(item, plan.items[step]);
            }
        }
        SegmentRun run(segment, stream_to_use());
        run.submit(slots, std::nullopt);
        wait_for_device();
        run.add_times(times);
    } catch (const DeviceError& error) {
        if (error.fault() != DeviceFault::kOutOfMemory) throw;
        if (has_submitted_) settle(core_.stream());
        slots.clear();
        for (const std::size_t item : moved) {
            if (items_[item].host) items_[item].device.reset();
        }
        for (const std::size_t item : plan.items) core_.report[items_[item].report].bytes_in = 0;
        return false;
    }
    for (const std::size_t slot : segment.outputs) {
        Item& item = items_[plan.of_slot[slot]];
        (segment.types[slot]->can_move ? item.device : item.host) = std::move(slots[slot]);
    }
    finish(plan, times, 0, "");
    return true;
}

// The units of a page: few enough that three pages fit in memory and that no page has more input than the page_size
// option allows.
std::uint64_t Evaluation::page_units(const Plan& plan) const {
    std::uint64_t in = 0;
    for (const std::size_t slot : plan.segment.split_inputs) in += plan.bytes[slot];
    const std::uint64_t most = std::max(peak_bytes(plan), in);
    const std::uint64_t fitting =
        core_.memory.device->available() / kPagesInMemory / std::max<std::uint64_t>(1, divide_up(most, plan.units));
    const std::uint64_t wanted = core_.options.page_size / std::max<std::uint64_t>(1, divide_up(in, plan.units));
    return std::clamp<std::uint64_t>(std::min(fitting, wanted), 1, plan.units);
}

void Evaluation::run_in_pages(Plan& plan) {
    const Segment& segment = plan.segment;
    std::vector<StepTimes> times(segment.steps.size());
    std::vector<std::vector<Value>> parts(segment.outputs.size());
    PagerOptions options;
    options.may_use_host = core_.options.policy == DevicePolicy::kAuto;
    for (const std::size_t slot : segment.inputs) {
        options.inputs.push_back(device_value_of(plan.of_slot[slot], plan.items.front()));
        if (options.may_use_host) options.host_inputs.push_back(host_value_of(plan.of_slot[slot], plan.items.front()));
    }
    wait_for_device();  // pages use other streams
    options.page_units = page_units(plan);
    Page all{{}, 0, plan.units, plan.units};
    for (const std::size_t slot : segment.split_inputs) {
        const Item& item = items_[plan.of_slot[slot]];
        all.values.push_back(item.device ? item.device : item.host);
    }
    std::uint64_t pages = 0;
    std::string note;
    {
        Pager pager(core_, segment, std::move(options), times, [&](std::vector<Value>& results) {
            for (std::size_t i = 0; i < results.size(); ++i) parts[i].push_back(std::move(results[i]));
        });
        pager.push(std::move(all));
        pager.finish();
        pages = pager.pages();
        note = pager.note();
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::size_t slot = segment.outputs[i];
        items_[plan.of_slot[slot]].host = parts[i].size() == 1
                                              ? std::move(parts[i].front())
                                              : segment.types[slot]->merge(parts[i], *core_.memory.manager);
        parts[i].clear();
    }
    finish(plan, times, pages, note);
}

void Evaluation::run_plan_on_host(Plan& plan, const std::string& note) {
    const Segment& segment = plan.segment;
    std::vector<Value> slots(segment.slots());
    std::vector<StepTimes> times(segment.steps.size());
    for (const auto* inputs : {&segment.inputs, &segment.split_inputs}) {
        for (const std::size_t slot : *inputs) slots[slot] = host_value_of(plan.of_slot[slot], plan.items.front());
    }
    run_on_host(segment, slots, std::nullopt, *core_.memory.manager, *core_.clock, times);
    for (const std::size_t slot : segment.outputs) items_[plan.of_slot[slot]].host = std::move(slots[slot]);
    finish(plan, times, 0, note);
}

// Completes the report, updates the rates from the times, and frees values after their last use.
void Evaluation::finish(const Plan& plan, const std::vector<StepTimes>& times, std::uint64_t pages,
                        const std::string& note) {
    for (std::size_t i = 0; i < plan.items.size(); ++i) {
        Item& item = items_[plan.items[i]];
        NodeReport& report = core_.report[item.report];
        bool was_on_device = false;
        for (const StepTimes::Sample& sample : times[i].samples) {
            report.taken += sample.seconds;
            was_on_device = was_on_device || sample.side == Side::kDevice;
            core_.rates.add(*item.function, sample.side, static_cast<double>(sample.bytes), sample.seconds, core_.runs);
        }
        report.side = was_on_device ? Side::kDevice : Side::kHost;
        report.bytes_in += times[i].bytes_in;
        report.bytes_out += times[i].bytes_out;
        report.pages = pages;
        report.note = note;
    }
    for (const std::size_t number : plan.items) {
        Item& item = items_[number];
        if (item.host || item.device) {
            item.bytes = item.node->type->bytes((item.host ? item.host : item.device).get());
        }
        for (const std::size_t argument : item.arguments) used(argument);
    }
}

}  // namespace cleave::offload
