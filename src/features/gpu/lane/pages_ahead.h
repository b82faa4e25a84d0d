// Reads pages before they are asked for, into memory that no other process can change, pinned where the device supports
// it. While the device works on one page, the next is read and copied. Several threads copy a page, because one thread
// copies more slowly than the link to the device.
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>

#include "base/mutex.h"
#include "cleave/experimental/device_context.h"
#include "features/gpu/lane/page_source.h"

namespace cleave {

class PagesAhead final : public PageSource {
public:
    // Whether a page with these bytes must be left to the CPU. Any thread.
    using IsForCpu = std::function<bool(std::span<const std::uint8_t> bytes)>;

    // `source` and `context` must outlive this object. `threads` is at least 1; `memory`, for copies that are not
    // pinned, is not null. If the system refuses a thread, pages are read when they are asked for.
    PagesAhead(PageSource& source, DeviceContext& context, unsigned threads, std::shared_ptr<MemoryManager> memory,
               IsForCpu is_for_cpu);
    ~PagesAhead() override { stop(); }

    // Throws what the source throws.
    std::optional<RecordPage> next() override;

    // Stops reading ahead. Pages that have been read are still passed on.
    void stop();

private:
    std::optional<RecordPage> read();
    bool copy(std::uint8_t* to, std::span<const std::uint8_t> from) const;
    void run(const std::stop_token& stop);
    bool has_room(const std::stop_token& stop);
    bool read_ahead();

    PageSource& source_;
    DeviceContext& context_;
    const unsigned threads_;
    const std::shared_ptr<MemoryManager> memory_;
    const IsForCpu is_for_cpu_;
    Mutex mutex_;
    StoppableConditionVariable changed_;
    std::deque<RecordPage> read_ CLEAVE_GUARDED_BY(mutex_);
    std::exception_ptr failure_ CLEAVE_GUARDED_BY(mutex_);  // rethrown after the pages
    bool is_done_ CLEAVE_GUARDED_BY(mutex_) = false;
    std::jthread reader_;  // last, because it uses the other members
};

}  // namespace cleave
