// Runs a segment page by page, for values that do not fit into device memory.
//
// Three pages are in flight, each on one stream at a time:
//
//   stream in         | copy page 2 in | copy page 3 in  |
//   stream compute    | bodies, page 1 | bodies, page 2  |
//   stream out        | copy page 0 out| copy page 1 out |
//
// Events pass a page from one stream to the next. Before a fourth page begins, the pager waits for the oldest, hands
// over its results and frees its memory, so results arrive in page order. Copies go through pinned memory. Nothing that
// belongs to a page is freed until its last copy is done, except what its bodies allocate for one another, because only
// one stream uses that.
//
// If the device runs out of memory, the pages in flight before the one that failed are finished, the others are put
// back, and from then on pages have half as many units. One-unit pages are tried one at a time. If even one of them
// does not fit, either the host bodies process it and all later pages, or the error is thrown.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "features/gpu/core.h"
#include "features/gpu/segment.h"

namespace cleave::offload {

// The units from `begin` to `end` of values that have `size` units each.
struct Page {
    std::vector<Value> values;  // the split inputs, on either side
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t size = 0;

    std::uint64_t units() const noexcept { return end - begin; }
};

struct PagerOptions {
    std::uint64_t page_units = 1;    // of the first pages
    bool may_use_host = true;        // if the smallest page does not fit
    std::vector<Value> inputs;       // the inputs that are not split, on the device
    std::vector<Value> host_inputs;  // the same inputs on the host
};

class Pager {
public:
    // Receives the results of a page, on the host, in the order of Segment::outputs.
    using Sink = std::function<void(std::vector<Value>& results)>;

    // `core`, `segment` and `times` must outlive the pager; `times` has one entry for each step.
    Pager(Core& core, const Segment& segment, PagerOptions options, std::vector<StepTimes>& times, Sink sink);
    Pager(const Pager&) = delete;
    Pager& operator=(const Pager&) = delete;
    // Waits for the pages in flight, and drops them.
    ~Pager();

    // Takes a page, which may be split into smaller ones. Throws DeviceError and whatever bodies and the sink throw.
    void push(Page page);
    void finish();

    std::uint64_t pages() const noexcept { return pages_; }
    // Why the host bodies have taken over; empty if they have not.
    const std::string& note() const noexcept { return note_; }

private:
    struct Flight;

    void pump();
    Page take_page();
    std::vector<Value> parts_of(const Page& page) const;
    void submit(Page page);
    void move_in(Flight& flight);
    void move_out(Flight& flight);
    void retire();
    void count_moves(const Flight& flight);
    void hand_over(std::vector<Value>& results);
    void put_back();
    void shrink(const DeviceError& error);
    void run_on_host(const Page& page);
    Value to_host(std::size_t slot, const Value& value);

    Core& core_;
    const Segment& segment_;
    PagerOptions options_;
    std::vector<StepTimes>& times_;
    const Sink sink_;
    std::deque<Page> pending_;
    const bool can_split_;
    std::size_t most_in_flight_;
    bool uses_host_ = false;
    bool is_handing_over_ = false;  // if set, an exception comes from the sink
    std::uint64_t pages_ = 0;
    std::string note_;
    DeviceStream in_;
    DeviceStream compute_;
    DeviceStream out_;
    std::deque<std::unique_ptr<Flight>> flights_;
};

}  // namespace cleave::offload
