// Runs the stage of a job on a device, as a function of pages. cleave/experimental/device_context.h transfers the pages
// and cuts them to size.
//
//   source     supplies pages of a few MiB (see lane/page_source.h)
//   offload    transfers pages in, runs the stage on them, transfers its output back; three pages are in flight at once
//   sink       passes the results on, in order
//
// The device leaves some pages to the CPU (modules/cuda/stage_rows.h says which): they come out unchanged, and the sink
// processes them.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "cleave/experimental/device_choice.h"
#include "cleave/experimental/device_context.h"
#include "cleave/stage.h"
#include "features/gpu/lane/device_program.h"
#include "features/gpu/lane/page_source.h"
#include "features/gpu/lane/pages_ahead.h"
#include "features/gpu/lane/record_page.h"
#include "features/redact/lane/device_lane.h"

namespace cleave {

class PageLane final : public DeviceLane {
public:
    // `stage`, `kernel` and `choice` must outlive the lane.
    PageLane(const Stage& stage, const Kernel& kernel, DeviceChoice& choice, std::shared_ptr<MemoryManager> memory,
             const Options& options);

    PageShape shape() const noexcept { return shape_; }

    Use use() const override;
    void decide(const Prospect& prospect) override;
    bool run(ExactBatches& batches, const Emit& emit) override;
    bool run(const Blob& blob, BlobRange range, const Emit& emit) override;
    // The same for the records of pages. Throws what `pages` throws.
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
    const Kernel& kernel_;
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
