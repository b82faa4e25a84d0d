// Runs the stage of a job on a device, as a function of pages. cleave/experimental/device_context.h transfers the pages
// and cuts them to size.
//
//   source     supplies pages of a few MiB (see lane/page_source.h)
//   offload    transfers pages in, runs the stage on them, transfers its output back; three pages are in flight at once
//   sink       passes the results on, in order
//
// The device leaves some pages to the CPU (modules/cuda/stage_rows.h says which): they come out unchanged, and the sink
// processes them.
//
// If there is a choice, the CPU processes the first records to establish its speed. The lane then uses the device if it
// is predicted to be faster, and gives it up if it fails or turns out to be slower.
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
#include "cleave/experimental/device_choice.h"
#include "cleave/experimental/device_context.h"
#include "cleave/stage.h"
#include "features/redact/lane/device_program.h"
#include "features/redact/lane/page_source.h"
#include "features/redact/lane/pages_ahead.h"
#include "features/redact/lane/record_page.h"

namespace cleave {

class DeviceLane {
public:
    struct Options {
        std::size_t batch_size = 0;  // in bytes, on the CPU
        unsigned threads = 1;        // how many threads may copy a page
    };

    // `stage`, `kernel` and `choice` must outlive the lane.
    DeviceLane(const Stage& stage, const Kernel& kernel, DeviceChoice& choice, std::shared_ptr<MemoryManager> memory,
               const Options& options);

    PageShape shape() const noexcept { return shape_; }

    enum class Use : std::uint8_t { kUndecided, kTaken, kLeft };
    // kLeft: the CPU processes all records. Any thread.
    Use use() const;
    // How much work is left, and how fast it would go without the device.
    struct Prospect {
        std::uint64_t size = 0;       // bytes
        double seconds_per_byte = 0;  // on the CPU
        double reading_per_byte = 0;  // seconds per byte to read a page, if reading holds the device up
        bool is_final = true;         // a decision against the device is final
    };
    // Decides whether to use the device, unless that has already been decided. Any thread.
    void decide(const Prospect& prospect);

    // Changed records, in order.
    struct Written {
        std::span<const std::uint8_t> bytes;
        std::span<const std::uint64_t> starts;  // where in `bytes` each begins
        const StageCounts& counts;              // for these records
        std::uint64_t offset = 0;               // where the original records are in the input
        std::span<const std::uint8_t> input;    // the original records
        bool is_by_device = false;              // by the device rather than the CPU
    };
    using Emit = std::function<void(const Written& written)>;

    // Passes on the changed records of the pages. Returns false if the CPU should process the remaining pages. Any
    // thread; a second call waits for the first. Throws what `pages`, StageWorker and `emit` throw, DoubtfulBatch,
    // MemoryError and, if there is no choice, DeviceError.
    bool run(PageSource& pages, const Emit& emit);

private:
    // How the device has done so far.
    struct Trial {
        std::uint64_t pages = 0;  // pages begun
        std::uint64_t size = 0;   // total size of the pages that were timed
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
    const std::shared_ptr<DeviceProgram> program_;  // null if the stage can only run on the CPU

    mutable Mutex use_mutex_;
    Use use_ CLEAVE_GUARDED_BY(use_mutex_);
    double seconds_per_byte_ CLEAVE_GUARDED_BY(use_mutex_) = 0;  // on the CPU

    Mutex mutex_;
    std::optional<Annotated<RewrittenPage(RecordPage)>> function_ CLEAVE_GUARDED_BY(mutex_);
    StageWorker worker_ CLEAVE_GUARDED_BY(mutex_);
    // Pages that have not been passed on yet; part of the first one may have been.
    std::deque<RecordPage> in_flight_ CLEAVE_GUARDED_BY(mutex_);
    // A failure of the source; thrown once all pages before it have been passed on.
    std::exception_ptr failure_ CLEAVE_GUARDED_BY(mutex_);
    Trial trial_ CLEAVE_GUARDED_BY(mutex_);
    StageCounts counts_ CLEAVE_GUARDED_BY(mutex_);
    std::vector<std::uint64_t> starts_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave
