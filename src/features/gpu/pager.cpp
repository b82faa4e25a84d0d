#include "features/gpu/pager.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace cleave::offload {
namespace {

constexpr std::size_t kInFlight = 3;

bool can_split(const Segment& segment) {
    return std::ranges::all_of(segment.split_inputs, [&](std::size_t slot) { return segment.types[slot]->can_split; });
}

bool is_on_device(const TypeOperations& type, const Value& value) {
    return type.can_move && type.side(value.get()) == Side::kDevice;
}

}  // namespace

struct Pager::Flight {
    Flight(const Segment& segment, DeviceStream& compute, Page its_page)
        : page(std::move(its_page)), slots(segment.slots()), run(segment, compute) {}

    Page page;
    std::vector<Value> parts;                     // of the page's values
    std::vector<Value> slots;                     // on the device
    std::vector<Value> results;                   // on the host, once the last copy is done
    std::vector<std::shared_ptr<Memory>> pinned;  // read by the page's copies
    SegmentRun run;
    DeviceEvent came_in;
    DeviceEvent computed;
    DeviceEvent went_out;
    bool is_submitted = false;
};

Pager::Pager(Core& core, const Segment& segment, PagerOptions options, std::vector<StepTimes>& times, Sink sink)
    : core_(core),
      segment_(segment),
      options_(std::move(options)),
      times_(times),
      sink_(std::move(sink)),
      can_split_(can_split(segment)),
      most_in_flight_(kInFlight),
      in_(core.make_page_stream()),
      compute_(core.make_page_stream()),
      out_(core.make_page_stream()) {}

Pager::~Pager() {
    // Waits for every stream, even if one of them fails. Failures do not matter, because the results are not used.
    for (DeviceStream* stream : {&in_, &compute_, &out_}) {
        std::ignore = stream->device().synchronize(stream->native());
    }
}

void Pager::push(Page page) {
    pending_.push_back(std::move(page));
    pump();
}

void Pager::finish() {
    while (!pending_.empty() || !flights_.empty()) {
        pump();
        try {
            while (!flights_.empty()) retire();
        } catch (const DeviceError& error) {
            if (is_handing_over_) throw;
            shrink(error);
        }
    }
}

void Pager::pump() {
    while (!pending_.empty()) {
        try {
            if (uses_host_) {
                while (!flights_.empty()) retire();
                run_on_host(take_page());
            } else {
                while (flights_.size() >= most_in_flight_) retire();
                submit(take_page());
            }
        } catch (const DeviceError& error) {
            if (is_handing_over_) throw;
            shrink(error);
        }
    }
}

// Takes the next page, with the current page size.
Page Pager::take_page() {
    Page& next = pending_.front();
    Page page = next;
    if (can_split_ && next.units() > options_.page_units) {
        page.end = page.begin + options_.page_units;
        next.begin = page.end;
    } else {
        pending_.pop_front();
    }
    return page;
}

std::vector<Value> Pager::parts_of(const Page& page) const {
    if (page.begin == 0 && page.end == page.size) return page.values;
    std::vector<Value> parts;
    for (std::size_t i = 0; i < page.values.size(); ++i) {
        const TypeOperations& type = *segment_.types[segment_.split_inputs[i]];
        parts.push_back(type.split(page.values[i].get(), page.begin, page.end));
    }
    return parts;
}

void Pager::submit(Page page) {
    flights_.push_back(std::make_unique<Flight>(segment_, compute_, std::move(page)));
    Flight& flight = *flights_.back();
    flight.parts = parts_of(flight.page);
    move_in(flight);
    flight.came_in.record(in_);
    flight.came_in.hold(compute_);
    flight.run.submit(flight.slots, flight.page.units());
    flight.computed.record(compute_);
    flight.computed.hold(out_);
    move_out(flight);
    flight.went_out.record(out_);
    flight.is_submitted = true;
}

void Pager::move_in(Flight& flight) {
    for (std::size_t i = 0; i < segment_.inputs.size(); ++i) flight.slots[segment_.inputs[i]] = options_.inputs[i];
    for (std::size_t i = 0; i < segment_.split_inputs.size(); ++i) {
        const std::size_t slot = segment_.split_inputs[i];
        const TypeOperations& type = *segment_.types[slot];
        const Value& part = flight.parts[i];
        const bool is_there = !type.can_move || is_on_device(type, part);
        flight.slots[slot] = is_there ? part : type.to(part.get(), Side::kDevice, in_);
    }
    flight.pinned = std::move(in_.state().pinned);
    in_.state().pinned.clear();
}

void Pager::move_out(Flight& flight) {
    for (const std::size_t slot : segment_.outputs) {
        const TypeOperations& type = *segment_.types[slot];
        const Value& result = flight.slots[slot];
        flight.results.push_back(is_on_device(type, result) ? type.to(result.get(), Side::kHost, out_) : result);
    }
}

// Waits for the oldest page, hands over its results, and frees its memory.
void Pager::retire() {
    flights_.front()->went_out.synchronize();
    for (DeviceStream* stream : {&in_, &compute_, &out_}) stream->state().failure->rethrow();
    flights_.front()->run.add_times(times_);
    const std::unique_ptr<Flight> done = std::move(flights_.front());
    flights_.pop_front();
    count_moves(*done);
    done->pinned.clear();
    done->slots.clear();
    hand_over(done->results);
}

// Transfers to the device count for the first step that uses the value, transfers to the host for the step that created
// it.
void Pager::count_moves(const Flight& flight) {
    for (std::size_t i = 0; i < segment_.split_inputs.size(); ++i) {
        const std::size_t slot = segment_.split_inputs[i];
        const TypeOperations& type = *segment_.types[slot];
        if (!type.can_move || is_on_device(type, flight.parts[i])) continue;
        const auto user = std::ranges::find_if(
            segment_.steps, [&](const Step& step) { return std::ranges::count(step.arguments, slot) > 0; });
        times_[static_cast<std::size_t>(user - segment_.steps.begin())].bytes_in += type.bytes(flight.parts[i].get());
    }
    for (std::size_t i = 0; i < segment_.outputs.size(); ++i) {
        const std::size_t slot = segment_.outputs[i];
        if (!segment_.types[slot]->can_move) continue;
        const auto maker = std::ranges::find(segment_.steps, slot, &Step::result);
        times_[static_cast<std::size_t>(maker - segment_.steps.begin())].bytes_out +=
            segment_.types[slot]->bytes(flight.results[i].get());
    }
}

void Pager::hand_over(std::vector<Value>& results) {
    ++pages_;
    is_handing_over_ = true;
    sink_(results);
    is_handing_over_ = false;
}

void Pager::put_back() {
    for (DeviceStream* stream : {&in_, &compute_, &out_}) settle(*stream);
    in_.state().pinned.clear();
    core_.blocks->clear();
    for (; !flights_.empty(); flights_.pop_back()) pending_.push_front(std::move(flights_.back()->page));
}

// After a failure: finishes the pages that can be finished, and makes pages smaller.
void Pager::shrink(const DeviceError& error) {
    if (error.fault() != DeviceFault::kOutOfMemory || flights_.empty()) throw error;
    const bool was_alone = flights_.size() == 1;
    const bool was_submitting = !flights_.back()->is_submitted;
    const std::uint64_t tried = (was_submitting ? flights_.back() : flights_.front())->page.units();
    try {
        while (was_submitting && flights_.size() > 1) retire();
    } catch (const DeviceError& next) {
        if (is_handing_over_ || next.fault() != DeviceFault::kOutOfMemory) throw;
    }
    put_back();
    if (tried > 1 && can_split_) {
        options_.page_units = std::min(options_.page_units, tried) / 2;
        if (options_.page_units == 0) options_.page_units = 1;
    } else if (!was_alone) {
        most_in_flight_ = 1;
    } else if (options_.may_use_host) {
        uses_host_ = true;
        options_.page_units = UINT64_MAX;
        note_ = "too little memory on the device";
    } else {
        throw error;
    }
}

Value Pager::to_host(std::size_t slot, const Value& value) {
    const TypeOperations& type = *segment_.types[slot];
    if (!is_on_device(type, value)) return value;
    Value moved = type.to(value.get(), Side::kHost, out_);
    out_.synchronize();
    return moved;
}

void Pager::run_on_host(const Page& page) {
    const std::vector<Value> parts = parts_of(page);
    std::vector<Value> slots(segment_.slots());
    for (std::size_t i = 0; i < segment_.inputs.size(); ++i) slots[segment_.inputs[i]] = options_.host_inputs[i];
    for (std::size_t i = 0; i < segment_.split_inputs.size(); ++i) {
        slots[segment_.split_inputs[i]] = to_host(segment_.split_inputs[i], parts[i]);
    }
    offload::run_on_host(segment_, slots, page.units(), *core_.memory.manager, *core_.clock, times_);
    std::vector<Value> results;
    results.reserve(segment_.outputs.size());
    for (const std::size_t slot : segment_.outputs) results.push_back(std::move(slots[slot]));
    hand_over(results);
}

}  // namespace cleave::offload
