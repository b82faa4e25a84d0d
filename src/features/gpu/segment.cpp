#include "features/gpu/segment.h"

namespace cleave::offload {
namespace {

// A step's arguments in the form that bodies take. An allocation produces as many units as the page has.
class Arguments {
public:
    Arguments(const Step& step, const std::vector<Value>& slots, std::optional<std::uint64_t> units) {
        pointers_.reserve(step.arguments.size());
        for (const std::size_t slot : step.arguments) pointers_.push_back(slots[slot].get());
        if (units && step.function->has_unit_count) {
            units_ = *units;
            pointers_.front() = &units_;
        }
    }
    Arguments(const Arguments&) = delete;
    Arguments& operator=(const Arguments&) = delete;

    std::span<const void* const> get() const noexcept { return pointers_; }

private:
    std::vector<const void*> pointers_;
    std::uint64_t units_ = 0;
};

void drop(const std::vector<std::size_t>& which, std::vector<Value>& slots) {
    for (const std::size_t slot : which) slots[slot].reset();
}

}  // namespace

std::uint64_t bytes_of(const Step& step, const Segment& segment, const std::vector<Value>& slots) {
    std::uint64_t bytes = 0;
    for (const std::size_t slot : step.arguments) bytes += segment.types[slot]->bytes(slots[slot].get());
    return bytes;
}

void SegmentRun::submit(std::vector<Value>& slots, std::optional<std::uint64_t> units) {
    events_.clear();
    bytes_.clear();
    events_.reserve(segment_.steps.size() + 1);
    events_.emplace_back().record(stream_);
    for (const Step& step : segment_.steps) {
        const Arguments arguments(step, slots, units);
        slots[step.result] = step.function->device(stream_, arguments.get());
        bytes_.push_back(bytes_of(step, segment_, slots));
        events_.emplace_back().record(stream_);
        drop(step.last_uses, slots);
    }
}

void SegmentRun::add_times(std::vector<StepTimes>& times) const {
    for (std::size_t i = 0; i < segment_.steps.size(); ++i) {
        times[i].samples.push_back({bytes_[i], events_[i].seconds_until(events_[i + 1]), Side::kDevice});
    }
}

void run_on_host(const Segment& segment, std::vector<Value>& slots, std::optional<std::uint64_t> units,
                 MemoryManager& memory, const Clock& clock, std::vector<StepTimes>& times) {
    for (std::size_t i = 0; i < segment.steps.size(); ++i) {
        const Step& step = segment.steps[i];
        const Arguments arguments(step, slots, units);
        const double begin = clock.seconds();
        slots[step.result] = step.function->host(memory, arguments.get());
        const double seconds = clock.seconds() - begin;
        times[i].samples.push_back({bytes_of(step, segment, slots), seconds, Side::kHost});
        drop(step.last_uses, slots);
    }
}

}  // namespace cleave::offload
