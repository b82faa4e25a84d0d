// The stage of a job on a device: a function of pages that cleave/offload.h places, moves and pages.
//
//   next      gathers runs of whole records to a page of some MiB
//   offload   moves pages in, runs the stage on them, moves out what it wrote; three pages are in flight
//   sink      passes the results on, in order
//
// The device leaves some pages to the CPU (modules/cuda/stage_rows.h says which ones): they come out as they went in,
// and are taken by the sink.
//
// Whether the device is used is decided once. The CPU takes the first runs, to see how fast it is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "cleave/offload.h"
#include "cleave/stage.h"
#include "job/record_page.h"
#include "scan/record_runs.h"

namespace cleave {

class DeviceLane {
public:
    // `stage`, `kernel` and `context` must outlive the lane. `threads` is how many the CPU has for the stage.
    DeviceLane(const Stage& stage, const Kernel& kernel, std::shared_ptr<Context> context,
               std::shared_ptr<MemoryManager> memory, unsigned threads);
    ~DeviceLane();

    // Whether the stage can run on the device at all.
    bool is_possible() const noexcept { return program_ != nullptr; }

    // Changed records, in order.
    struct Written {
        std::span<const std::uint8_t> bytes;
        std::span<const std::uint64_t> starts;  // where in `bytes` each begins
        const StageCounts& counts;              // of these
        std::uint64_t input_size = 0;           // of the records they were made of
    };
    using Emit = std::function<void(const Written& written)>;

    // Passes on runs. Returns false if the CPU is to take those that are left. Any thread; one waits for the other.
    // Throws what `runs`, StageWorker and `emit` throw, DeviceError and MemoryError.
    bool run(RecordRuns& runs, bool are_mapped, const Emit& emit);

private:
    class Program;

    bool try_cpu(RecordRuns& runs, const Emit& emit);
    void make_function(std::optional<Rate> host);
    std::optional<RecordPage> next_page(RecordRuns& runs, bool are_mapped);
    void take_by_cpu(std::span<const std::uint8_t> bytes, Place place, const Emit& emit);
    void take(const StagedRecords& records, const Emit& emit);

    const Stage& stage_;
    std::shared_ptr<Context> context_;
    std::shared_ptr<MemoryManager> memory_;
    const unsigned threads_;
    const std::shared_ptr<Program> program_;  // null: the stage is for the CPU alone
    std::mutex mutex_;
    StageWorker worker_;             // guarded by mutex_, as all that follows
    std::optional<bool> is_chosen_;  // nothing until it was decided
    std::optional<Annotated<StagedRecords(RecordPage)>> function_;
    StageCounts counts_;
    std::vector<std::uint64_t> starts_;
};

}  // namespace cleave
