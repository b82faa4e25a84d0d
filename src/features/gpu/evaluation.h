// One evaluation of a graph. The members are defined in evaluation.cpp, evaluation_plan.cpp and evaluation_device.cpp.
//
//   sort       lists the nodes that are needed, arguments before consumers
//   place      estimates sizes, and lets cheapest_places() decide; evaluation_plan.cpp
//   group      forms segments of nodes on the device that can run together
//   run        runs host bodies and segments in order of levels, a segment as a whole or page by page;
//              evaluation_device.cpp
//   commit     gives the requested nodes their values; until then no node has changed
//
// A level is a number that increases along every arc between two groups and is the same within a group. So all groups
// of a level can run once the groups of lower levels have run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cleave/experimental/offload.h"
#include "features/gpu/core.h"
#include "features/gpu/pager.h"
#include "features/gpu/placement.h"
#include "features/gpu/segment.h"

namespace cleave::offload {

class Evaluation {
public:
    // Throws ArgumentError if a node belongs to a different context. This thread must be using `core`.
    Evaluation(const std::shared_ptr<Core>& core, std::span<const std::shared_ptr<Node>> wanted);
    Evaluation(const Evaluation&) = delete;
    Evaluation& operator=(const Evaluation&) = delete;
    // Waits for the device.
    ~Evaluation();

    void run();

private:
    // How a node may be grouped with its neighbours.
    enum class Kind : std::uint8_t { kValue, kHost, kDeviceParts, kDeviceWhole };

    struct Item {
        std::shared_ptr<Node> node;
        std::shared_ptr<const Function> function;  // null for a value
        std::vector<std::size_t> arguments;        // as items
        bool is_wanted = false;
        Value host;
        Value device;
        std::uint64_t bytes = 0;  // estimated until there is a value
        Side side = Side::kHost;
        Kind kind = Kind::kValue;
        std::size_t level = 0;
        std::size_t group = 0;  // the first item of the segment
        std::size_t uses = 0;   // by items that have yet to run
        std::size_t report = 0;
    };

    // A transfer to the device.
    struct Move {
        DeviceEvent begin;
        DeviceEvent end;
        std::uint64_t bytes;
    };

    // The plan of a segment.
    struct Plan {
        Segment segment;
        std::vector<std::size_t> items;    // the item of each step
        std::vector<std::size_t> of_slot;  // the item of each slot
        std::vector<std::uint64_t> bytes;  // of each slot; estimated for results
        std::uint64_t units = 0;           // 0 if it cannot run page by page
    };

    static bool is_split(const Function& function, std::size_t argument);

    void sort(std::span<const std::shared_ptr<Node>> wanted);
    std::size_t add_item(const std::shared_ptr<Node>& node);
    void bind(Node& node) const;
    void commit() noexcept;

    void place() CLEAVE_REQUIRES(core_.mutex);
    void choose_places() CLEAVE_REQUIRES(core_.mutex);
    std::vector<PlacementNode> placement_nodes() CLEAVE_REQUIRES(core_.mutex);
    double move_seconds(const Item& item, Side to) const CLEAVE_REQUIRES(core_.mutex);
    void predict(const Item& item, PlacementNode& node) CLEAVE_REQUIRES(core_.mutex);
    Kind kind_of(const Item& item) const;
    void find_groups();
    double argument_bytes(const Item& item) const;
    void start_report(std::size_t item, Side side) CLEAVE_REQUIRES(core_.mutex);

    void run_item_on_host(std::size_t item) CLEAVE_REQUIRES(core_.mutex);
    void run_group(const std::vector<std::size_t>& items) CLEAVE_REQUIRES(core_.mutex);
    Plan make_plan(const std::vector<std::size_t>& items) const;
    std::uint64_t units_of(const Plan& plan) const;
    std::uint64_t peak_bytes(const Plan& plan) const;
    std::uint64_t page_units(const Plan& plan) const;
    bool run_as_whole(Plan& plan) CLEAVE_REQUIRES(core_.mutex);
    void run_in_pages(Plan& plan) CLEAVE_REQUIRES(core_.mutex);
    void run_plan_on_host(Plan& plan, const std::string& note) CLEAVE_REQUIRES(core_.mutex);
    void finish(const Plan& plan, const std::vector<StepTimes>& times, std::uint64_t pages, const std::string& note)
        CLEAVE_REQUIRES(core_.mutex);

    const Value& host_value_of(std::size_t value, std::size_t consumer) CLEAVE_REQUIRES(core_.mutex);
    const Value& device_value_of(std::size_t value, std::size_t consumer) CLEAVE_REQUIRES(core_.mutex);
    void used(std::size_t item);
    // The stream. Wait for it before dropping values.
    DeviceStream& stream_to_use() CLEAVE_REQUIRES(core_.mutex);
    void wait_for_device() CLEAVE_REQUIRES(core_.mutex);

    Core& core_;
    const std::shared_ptr<Core> shared_core_;
    std::vector<Item> items_;
    std::vector<Move> moves_;     // submitted transfers from ordinary memory
    bool has_submitted_ = false;  // the device may be working for this evaluation
};

}  // namespace cleave::offload
