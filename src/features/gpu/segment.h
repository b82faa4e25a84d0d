// A part of a graph that runs on the device as one unit: a list of steps over numbered slots of values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cleave/experimental/device_context.h"
#include "features/gpu/device_stream.h"

namespace cleave::offload {

struct Step {
    const Function* function = nullptr;
    std::vector<std::size_t> arguments;  // as slots
    std::size_t result = 0;              // a slot
    std::vector<std::size_t> last_uses;  // slots of results that neither a later step nor anything outside needs
};

struct Segment {
    std::vector<Step> steps;
    std::vector<const TypeOperations*> types;  // of each slot
    std::vector<std::size_t> inputs;           // slots filled from outside, not split
    std::vector<std::size_t> split_inputs;     // the same, but each page gets a part
    std::vector<std::size_t> outputs;          // slots of results needed outside

    std::size_t slots() const noexcept { return types.size(); }
};

// The measurements of a step, for all pages together.
struct StepTimes {
    struct Sample {
        std::uint64_t bytes;  // of the arguments
        double seconds;
        Side side;
    };
    std::vector<Sample> samples;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
};

// Runs the steps on a stream and times each. The objects it refers to must live until add_times() has been called.
class SegmentRun {
public:
    SegmentRun(const Segment& segment, DeviceStream& stream) : segment_(segment), stream_(stream) {}

    // Submits the bodies. `slots` holds the inputs, on the device, and receives the results. `units` is the number of
    // units of a page; std::nullopt if there are no pages. Values are dropped after their last use by a step.
    void submit(std::vector<Value>& slots, std::optional<std::uint64_t> units);
    // Call after the stream has finished the steps.
    void add_times(std::vector<StepTimes>& times) const;

private:
    const Segment& segment_;
    DeviceStream& stream_;
    std::vector<DeviceEvent> events_;   // one before the first step and one after each
    std::vector<std::uint64_t> bytes_;  // of each step's arguments
};

// Runs the steps with their host bodies. `slots` holds the inputs, on the host, and receives the results.
void run_on_host(const Segment& segment, std::vector<Value>& slots, std::optional<std::uint64_t> units,
                 MemoryManager& memory, const Clock& clock, std::vector<StepTimes>& times);

// The bytes of the step's arguments, as reported by their types.
std::uint64_t bytes_of(const Step& step, const Segment& segment, const std::vector<Value>& slots);

}  // namespace cleave::offload
