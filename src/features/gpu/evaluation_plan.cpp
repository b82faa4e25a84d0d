// Decides where the nodes of an evaluation run, and which of them run together.
#include <algorithm>
#include <numeric>

#include "features/gpu/evaluation.h"
#include "features/gpu/explain.h"
#include "features/gpu/placement.h"

namespace cleave::offload {
namespace {

// Estimates the size of a result in bytes.
std::uint64_t estimate(const Function& function, std::span<const std::uint64_t> arguments) {
    if (function.cost.result_bytes) return function.cost.result_bytes(arguments);
    return arguments.empty() ? 0 : std::ranges::max(arguments);
}

// Fills Step::last_uses.
void find_last_uses(Segment& segment) {
    std::vector<bool> is_needed(segment.slots(), false);
    for (const std::vector<std::size_t>* kept : {&segment.inputs, &segment.split_inputs, &segment.outputs}) {
        for (const std::size_t slot : *kept) is_needed[slot] = true;
    }
    for (std::size_t i = segment.steps.size(); i-- > 0;) {
        std::vector<std::size_t> used = segment.steps[i].arguments;
        used.push_back(segment.steps[i].result);
        for (const std::size_t slot : used) {
            if (is_needed[slot]) continue;
            is_needed[slot] = true;
            segment.steps[i].last_uses.push_back(slot);
        }
    }
}

}  // namespace

// Whether each page gets a part of this argument.
bool Evaluation::is_split(const Function& function, std::size_t argument) {
    return !function.is_allocation && function.cost.by_parts && function.arguments[argument]->can_split &&
           std::ranges::count(function.cost.whole, argument) == 0;
}

double Evaluation::argument_bytes(const Item& item) const {
    return std::accumulate(item.arguments.begin(), item.arguments.end(), 0.0, [&](double sum, std::size_t argument) {
        return sum + static_cast<double>(items_[argument].bytes);
    });
}

void Evaluation::place() {
    for (Item& item : items_) {
        if (!item.function) continue;
        std::vector<std::uint64_t> arguments;
        arguments.reserve(item.arguments.size());
        for (const std::size_t argument : item.arguments) arguments.push_back(items_[argument].bytes);
        item.bytes = estimate(*item.function, arguments);
        if (!item.function->has_unit_count) continue;
        const Item& units = items_[item.arguments.front()];
        if (units.host) item.bytes = as<std::uint64_t>(units.host.get()) * item.function->cost.unit_bytes;
    }
    choose_places();
    find_groups();
}

void Evaluation::choose_places() {
    if (const char* const reason = core_.reason_for_host(); reason != nullptr) {
        if (core_.options.policy == DevicePolicy::kAuto) {
            core_.remarks.push_back(std::string("the device is not used: ") + reason);
        }
        return;
    }
    const std::vector<PlacementNode> nodes = placement_nodes();
    std::vector<Side> on_host(items_.size(), Side::kHost);
    for (std::size_t i = 0; i < items_.size(); ++i) {
        if (!items_[i].function && !items_[i].host) on_host[i] = Side::kDevice;
    }
    std::vector<Side> places = on_host;
    if (core_.options.policy == DevicePolicy::kGpu) {
        for (std::size_t i = 0; i < items_.size(); ++i) {
            if (items_[i].function && items_[i].function->device) places[i] = Side::kDevice;
        }
        settle_allocations(nodes, places);
    } else {
        places = cheapest_places(nodes);
        const double host_seconds = seconds_of(nodes, on_host);
        const double best_seconds = seconds_of(nodes, places);
        const bool is_worth_it = best_seconds * kLeastGain <= host_seconds;
        core_.remarks.push_back("predicted: " + text_of_seconds(host_seconds) + " on the host alone, " +
                                text_of_seconds(best_seconds) + " at best" +
                                (is_worth_it || best_seconds == host_seconds ? "" : "; too little to gain"));
        if (!is_worth_it) return;
    }
    for (std::size_t i = 0; i < items_.size(); ++i) items_[i].side = places[i];
}

std::vector<PlacementNode> Evaluation::placement_nodes() {
    std::vector<PlacementNode> nodes(items_.size());
    for (std::size_t i = 0; i < items_.size(); ++i) {
        const Item& item = items_[i];
        PlacementNode& node = nodes[i];
        node.arguments = item.arguments;
        const bool can_move = item.node->type->can_move;
        const bool is_everywhere = !can_move || (item.host && item.device);
        if (!is_everywhere) {
            node.to_device = move_seconds(item, Side::kDevice);
            node.to_host = move_seconds(item, Side::kHost);
        }
        if (!item.function) {
            node.host = is_everywhere || item.host ? 0 : kNever;
            node.device = is_everywhere || item.device ? 0 : kNever;
            continue;
        }
        node.is_wanted = item.is_wanted && can_move;
        predict(item, node);
    }
    return nodes;
}

// The time to transfer the value, which may not exist yet. Values that a body creates on the host are assumed to be in
// ordinary memory; values that come back from the device are put into pinned memory. Without a profile the time is 0.
double Evaluation::move_seconds(const Item& item, Side to) const {
    const bool is_pinned = to == Side::kHost
                               ? (core_.memory.manager->manager().capabilities & CLEAVE_MEMORY_CAN_PINNED) != 0
                               : item.host && item.node->type->is_pinned(item.host.get());
    return core_.move_seconds(to, is_pinned, item.bytes).value_or(0);
}

// Sets the seconds of a function. Under kGpu they do not matter, and may be unknown.
void Evaluation::predict(const Item& item, PlacementNode& node) {
    const Function& function = *item.function;
    node.is_allocation = function.is_allocation;
    if (node.is_allocation) {  // an allocation takes negligible time
        node.host = 0;
        if (function.device) node.device = 0;
        return;
    }
    const double bytes = argument_bytes(item);
    const auto host = core_.rates.predict(function, Side::kHost, bytes);
    const auto device = core_.rates.predict(function, Side::kDevice, bytes);
    const double launch = core_.options.profile ? core_.options.profile->launch : 0;
    node.host = host.value_or(0);
    const bool may_be_there = core_.options.policy == DevicePolicy::kGpu || (host && device);
    if (function.device && may_be_there) node.device = device.value_or(0) + launch;
}

Evaluation::Kind Evaluation::kind_of(const Item& item) const {
    if (!item.function) return Kind::kValue;
    if (item.side == Side::kHost) return Kind::kHost;
    const Function& function = *item.function;
    if (!function.cost.by_parts || !function.result->can_split) return Kind::kDeviceWhole;
    bool can_page = false;
    for (std::size_t i = 0; i < item.arguments.size(); ++i) can_page = can_page || is_split(function, i);
    if (function.is_allocation) can_page = function.has_unit_count && !items_[item.arguments.front()].function;
    return can_page ? Kind::kDeviceParts : Kind::kDeviceWhole;
}

// Groups neighbours of kind kDeviceParts, unless one needs the whole result of the other at once.
void Evaluation::find_groups() {
    const auto root_of = [&](std::size_t item) {
        while (items_[item].group != item) item = items_[item].group = items_[items_[item].group].group;
        return item;
    };
    for (std::size_t i = 0; i < items_.size(); ++i) {
        Item& item = items_[i];
        item.kind = kind_of(item);
        item.group = i;
        const auto can_join = [&](std::size_t argument) {
            const Kind kind = items_[item.arguments[argument]].kind;
            if (kind != item.kind) return false;
            return kind == Kind::kHost || (kind == Kind::kDeviceParts && is_split(*item.function, argument));
        };
        for (std::size_t k = 0; k < item.arguments.size(); ++k) {
            const Item& argument = items_[item.arguments[k]];
            if (argument.kind == Kind::kValue) continue;
            item.level = std::max(item.level, argument.level + (can_join(k) ? 0 : 1));
        }
        for (std::size_t k = 0; k < item.arguments.size() && item.kind == Kind::kDeviceParts; ++k) {
            if (!can_join(k) || items_[item.arguments[k]].level != item.level) continue;
            const std::size_t one = root_of(item.arguments[k]);
            const std::size_t other = root_of(i);
            items_[std::max(one, other)].group = std::min(one, other);
        }
    }
    for (std::size_t i = 0; i < items_.size(); ++i) items_[i].group = root_of(i);
}

// Adds an entry for the item to the report, with the prediction.
void Evaluation::start_report(std::size_t item, Side side) {
    Item& it = items_[item];
    NodeReport report;
    report.name = it.function->name;
    report.side = side;
    report.predicted = core_.rates.predict(*it.function, side, argument_bytes(it));
    for (const std::size_t number : it.arguments) {
        const Item& argument = items_[number];
        const bool is_there = side == Side::kHost ? argument.host != nullptr : argument.device != nullptr;
        const bool will_be_made_there = !argument.host && !argument.device && argument.side == side;
        if (is_there || will_be_made_there || !argument.node->type->can_move || !report.predicted) continue;
        if (!core_.options.profile) {
            report.predicted.reset();
        } else {
            *report.predicted += move_seconds(argument, side);
        }
    }
    if (side == Side::kDevice && report.predicted && core_.options.profile) {
        *report.predicted += core_.options.profile->launch;
    }
    it.report = core_.report.size();
    core_.report.push_back(std::move(report));
}

// Builds the slots, steps and units of a group.
Evaluation::Plan Evaluation::make_plan(const std::vector<std::size_t>& items) const {
    Plan plan;
    Segment& segment = plan.segment;
    struct SlotKey {
        std::size_t item;
        bool is_split;
        bool operator==(const SlotKey&) const = default;
    };
    std::vector<SlotKey> keys;
    const auto add_slot = [&](SlotKey key) {
        keys.push_back(key);
        segment.types.push_back(items_[key.item].node->type);
        plan.of_slot.push_back(key.item);
        plan.bytes.push_back(items_[key.item].bytes);
        return keys.size() - 1;
    };
    std::vector<std::size_t> inner_uses(items.size(), 0);
    for (const std::size_t item : items) {
        const Item& it = items_[item];
        Step step;
        step.function = it.function.get();
        std::vector<std::uint64_t> bytes;
        for (std::size_t k = 0; k < it.arguments.size(); ++k) {
            const bool is_parted = it.kind == Kind::kDeviceParts && is_split(*it.function, k);
            const SlotKey key{it.arguments[k], is_parted};
            const auto found = std::ranges::find(keys, key);
            const auto slot = static_cast<std::size_t>(found - keys.begin());
            if (found == keys.end()) {
                add_slot(key);
                (is_parted ? segment.split_inputs : segment.inputs).push_back(slot);
            }
            const auto inner = std::ranges::find(items, it.arguments[k]);
            if (inner != items.end()) ++inner_uses[static_cast<std::size_t>(inner - items.begin())];
            step.arguments.push_back(slot);
            bytes.push_back(plan.bytes[slot]);
        }
        step.result = add_slot({item, true});
        if (!it.function->has_unit_count) plan.bytes[step.result] = estimate(*it.function, bytes);
        segment.steps.push_back(std::move(step));
        plan.items.push_back(item);
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
        const Item& it = items_[items[i]];
        if (it.is_wanted || it.uses > inner_uses[i]) segment.outputs.push_back(segment.steps[i].result);
    }
    find_last_uses(segment);
    plan.units = units_of(plan);
    return plan;
}

// The common number of units of the split inputs and the allocations; returns 0 if the group cannot run page by page.
std::uint64_t Evaluation::units_of(const Plan& plan) const {
    std::optional<std::uint64_t> units;
    bool is_the_same = items_[plan.items.front()].kind == Kind::kDeviceParts;
    const auto add = [&](std::uint64_t number) {
        is_the_same = is_the_same && number == units.value_or(number);
        units = number;
    };
    if (!is_the_same) return 0;
    for (const std::size_t slot : plan.segment.split_inputs) {
        const Item& item = items_[plan.of_slot[slot]];
        add(item.node->type->size((item.host ? item.host : item.device).get()));
    }
    for (const Step& step : plan.segment.steps) {
        if (step.function->has_unit_count)
            add(as<std::uint64_t>(items_[plan.of_slot[step.arguments.front()]].host.get()));
    }
    return is_the_same ? units.value_or(0) : 0;
}

}  // namespace cleave::offload
