// Runs a segment page by page, for values that do not fit into the memory of the device.
//
// Three pages are in flight, each on one stream at a time:
//
//   stream in         | copy page 2 in | copy page 3 in  |
//   stream compute    | bodies, page 1 | bodies, page 2  |
//   stream out        | copy page 0 out| copy page 1 out |
//
// A page goes from one stream to the next by an event. Before a fourth page is begun the oldest is waited for, its
// results are handed over, and its memory is freed; so results come in the order of the pages. Copies go through pinned
// memory. Nothing of a page is freed before its last copy is done, except what its bodies allocate for one another:
// that is used on one stream only.
//
// When the device runs out of memory, the pages in flight before the one that failed are finished. The others are put
// back, and from there on pages have half as many units. Pages of one unit are tried one at a time. If one alone does
// not fit, the host bodies take it and all that follow, or the error comes out.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "offload/core.h"
#include "offload/segment.h"

namespace cleave::offload {

// The units from `begin` to `end` of some values, which have `size` units each.
struct Page {
    std::vector<Value> values;  // of the split inputs, on any side
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t size = 0;

    std::uint64_t units() const noexcept { return end - begin; }
};

struct PagerOptions {
    std::uint64_t page_units = 1;    // that a page has at first
    bool may_use_host = true;        // when the smallest page does not fit
    std::vector<Value> inputs;       // those that are not split, on the device
    std::vector<Value> host_inputs;  // the same on the host
};

class Pager {
public:
    // Gets the results of a page, on the host, in the order of Segment::outputs.
    using Sink = std::function<void(std::vector<Value>& results)>;

    // `core`, `segment` and `times` must outlive the pager; `times` has an entry for each step.
    Pager(Core& core, const Segment& segment, PagerOptions options, std::vector<StepTimes>& times, Sink sink);
    Pager(const Pager&) = delete;
    Pager& operator=(const Pager&) = delete;
    // Waits for what is in flight, and drops it.
    ~Pager();

    // Takes a page, which may be cut into smaller ones. Throws what bodies and the sink throw, and DeviceError.
    void push(Page page);
    void finish();

    std::uint64_t pages() const noexcept { return pages_; }
    // Why the host bodies took over; empty if they did not.
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
    bool is_handing_over_ = false;  // an exception comes from the sink
    std::uint64_t pages_ = 0;
    std::string note_;
    DeviceStream in_;
    DeviceStream compute_;
    DeviceStream out_;
    std::deque<std::unique_ptr<Flight>> flights_;
};

}  // namespace cleave::offload
