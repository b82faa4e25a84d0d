// Pages that are read before they are asked for, into pinned memory: while the device works on one page, the next one
// is read and copied. A page is copied by several threads, because one thread copies more slowly than the link to the
// device.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "cleave/offload.h"
#include "job/page_source.h"

namespace cleave {

class PagesAhead final : public PageSource {
public:
    // `source` and `context` must outlive this object. `threads` is at least 1. Where the system refuses a thread,
    // pages are read when they are asked for.
    PagesAhead(PageSource& source, Context& context, unsigned threads);
    ~PagesAhead() override { stop(); }

    // Throws what the source throws.
    std::optional<RecordPage> next() override;

    // Ends reading. Pages that were read already are still passed on.
    void stop();

private:
    std::optional<RecordPage> read();
    void run(const std::stop_token& stop);

    PageSource& source_;
    Context& context_;
    const unsigned threads_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<RecordPage> read_;  // guarded by mutex_, as all that follows
    std::exception_ptr failure_;   // comes after the pages
    bool is_done_ = false;
    std::jthread reader_;  // last: it uses the other members
};

}  // namespace cleave
