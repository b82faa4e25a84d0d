// A part of a graph that runs on the device as one: a list of steps over numbered slots of values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cleave/device_context.h"
#include "offload/device_stream.h"

namespace cleave::offload {

struct Step {
    const Function* function = nullptr;
    std::vector<std::size_t> arguments;  // slots
    std::size_t result = 0;              // a slot
    std::vector<std::size_t> last_uses;  // slots of results that no later step and nobody outside needs
};

struct Segment {
    std::vector<Step> steps;
    std::vector<const TypeOperations*> types;  // of each slot
    std::vector<std::size_t> inputs;           // slots that are filled from outside; not split
    std::vector<std::size_t> split_inputs;     // likewise; each page gets a part
    std::vector<std::size_t> outputs;          // slots of results that are needed outside

    std::size_t slots() const noexcept { return types.size(); }
};

// What was seen of a step; of all pages together.
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

// Runs the steps on a stream, and takes the time of each. What it refers to must live until times() was called.
class SegmentRun {
public:
    SegmentRun(const Segment& segment, DeviceStream& stream) : segment_(segment), stream_(stream) {}

    // Submits the bodies. `slots` has the inputs, on the device, and gets the results. `units` is the number of units
    // of a page; nothing if there are no pages. Values of steps are dropped after their last use.
    void submit(std::vector<Value>& slots, std::optional<std::uint64_t> units);
    // After the stream has done them.
    void add_times(std::vector<StepTimes>& times) const;

private:
    const Segment& segment_;
    DeviceStream& stream_;
    std::vector<DeviceEvent> events_;   // before the first step, and after each
    std::vector<std::uint64_t> bytes_;  // of the arguments of each step
};

// Runs the steps by their host bodies. `slots` has the inputs, on the host.
void run_on_host(const Segment& segment, std::vector<Value>& slots, std::optional<std::uint64_t> units,
                 MemoryManager& memory, const Clock& clock, std::vector<StepTimes>& times);

// Bytes of arguments, as their types say.
std::uint64_t bytes_of(const Step& step, const Segment& segment, const std::vector<Value>& slots);

}  // namespace cleave::offload
