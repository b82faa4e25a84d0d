// The stage of a job on a device: a function of pages that cleave/device_context.h moves and pages.
//
//   source     pages of some MiB (see lane/page_source.h)
//   offload    moves pages in, runs the stage on them, moves out what it wrote; three pages are in flight
//   sink       passes the results on, in order
//
// The device leaves some pages to the CPU (modules/cuda/stage_rows.h says which ones): they come out as they went in,
// and are taken by the sink.
//
// If there is a choice the CPU takes records first, to see how fast it is. The device is taken if it is predicted to be
// faster, and is given up when it fails, or when it is seen to be slower.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "cleave/device_choice.h"
#include "cleave/device_context.h"
#include "cleave/stage.h"
#include "lane/device_program.h"
#include "lane/page_source.h"
#include "lane/pages_ahead.h"
#include "lane/record_page.h"

namespace cleave {

class DeviceLane {
public:
    struct Options {
        std::size_t batch_size = 0;  // bytes of a batch for the CPU
        unsigned threads = 1;        // that copy a page, at most
    };

    // `stage`, `kernel` and `choice` must outlive the lane.
    DeviceLane(const Stage& stage, const Kernel& kernel, DeviceChoice& choice, std::shared_ptr<MemoryManager> memory,
               const Options& options);

    PageShape shape() const noexcept { return shape_; }

    enum class Use : std::uint8_t { kUndecided, kTaken, kLeft };
    // kLeft: the CPU takes all records. Any thread.
    Use use() const;
    // What is left to do, and how fast that is without the device.
    struct Prospect {
        std::uint64_t size = 0;       // bytes
        double seconds_per_byte = 0;  // of the CPU
        double reading_per_byte = 0;  // seconds to read a page, if that holds the device up
        bool is_final = true;         // a decision against the device is not taken back
    };
    // Decides, if that was not done. Any thread.
    void decide(const Prospect& prospect);

    // Changed records, in order.
    struct Written {
        std::span<const std::uint8_t> bytes;
        std::span<const std::uint64_t> starts;  // where in `bytes` each begins
        const StageCounts& counts;              // of these
        std::uint64_t offset = 0;               // of the records they were made of, in the input
        std::span<const std::uint8_t> input;    // these records
        bool is_by_device = false;              // not by the CPU
    };
    using Emit = std::function<void(const Written& written)>;

    // Passes on pages. Returns false if the CPU is to take those that are left. Any thread; one waits for the other.
    // Throws what `pages`, StageWorker and `emit` throw, DoubtfulBatch, MemoryError, and, without a choice,
    // DeviceError.
    bool run(PageSource& pages, const Emit& emit);

private:
    // What the device was seen to do.
    struct Trial {
        std::uint64_t pages = 0;  // that were begun
        std::uint64_t size = 0;   // of those that count
        std::chrono::steady_clock::time_point begin;
    };

    std::optional<RecordPage> next_page(PagesAhead& pages) CLEAVE_REQUIRES(mutex_);
    bool stream(PagesAhead& pages, DeviceContext& context, const Emit& emit) CLEAVE_REQUIRES(mutex_);
    bool seems_slower(const RecordPage& page) CLEAVE_REQUIRES(mutex_);
    void give_up(const std::string& reason);
    void take(const RewrittenPage& records, const Emit& emit) CLEAVE_REQUIRES(mutex_);
    void take_by_cpu(const RecordPage& page, const Emit& emit) CLEAVE_REQUIRES(mutex_);
    void note_emitted(std::uint64_t size, std::uint64_t records) CLEAVE_REQUIRES(mutex_);

    const Stage& stage_;
    DeviceChoice& choice_;
    const PageShape shape_;
    const unsigned threads_;
    const std::shared_ptr<MemoryManager> memory_;
    const std::shared_ptr<DeviceProgram> program_;  // null: the stage is for the CPU alone

    mutable Mutex use_mutex_;
    Use use_ CLEAVE_GUARDED_BY(use_mutex_);
    double seconds_per_byte_ CLEAVE_GUARDED_BY(use_mutex_) = 0;  // of the CPU

    Mutex mutex_;
    std::optional<Annotated<RewrittenPage(RecordPage)>> function_ CLEAVE_GUARDED_BY(mutex_);
    StageWorker worker_ CLEAVE_GUARDED_BY(mutex_);
    // Pages that were not passed on, the first one perhaps in part.
    std::deque<RecordPage> in_flight_ CLEAVE_GUARDED_BY(mutex_);
    // Of the source; thrown when all pages before it were passed on.
    std::exception_ptr failure_ CLEAVE_GUARDED_BY(mutex_);
    Trial trial_ CLEAVE_GUARDED_BY(mutex_);
    StageCounts counts_ CLEAVE_GUARDED_BY(mutex_);
    std::vector<std::uint64_t> starts_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave
