#include "features/gpu/evaluation.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "cleave/error.h"

namespace cleave {
namespace offload {

Evaluation::Evaluation(const std::shared_ptr<Core>& core, std::span<const std::shared_ptr<Node>> wanted)
    : core_(*core), shared_core_(core) {
    core_.report.clear();
    core_.remarks.clear();
    ++core_.runs;
    sort(wanted);
}

Evaluation::~Evaluation() {
    // Values are about to be dropped. A failure does not matter, because the device's results are not used.
    if (has_submitted_) std::ignore = core_.options.device->synchronize(core_.stream().native());
}

// Binds the node to this context if it has a function or its value is on a device. If two contexts evaluate graphs that
// share a node at the same time, one of them fails here.
void Evaluation::bind(Node& node) const {
    const std::scoped_lock lock(node.mutex);
    if (node.core && node.core != shared_core_) {
        throw ArgumentError("offload: the graph belongs to another context");
    }
    if (!node.core && (node.function || !node.host)) node.core = shared_core_;
}

std::size_t Evaluation::add_item(const std::shared_ptr<Node>& node) {
    bind(*node);
    Item item;
    item.node = node;
    item.host = node->host;
    item.device = node->device;
    if (!item.host && !item.device) {
        item.function = node->function;
    } else {
        item.bytes = node->type->bytes((item.host ? item.host : item.device).get());
    }
    items_.push_back(std::move(item));
    return items_.size() - 1;
}

// Works depth-first, but without recursion, because a deep graph would overflow the stack.
void Evaluation::sort(std::span<const std::shared_ptr<Node>> wanted) {
    struct Visit {
        std::shared_ptr<Node> node;
        std::size_t next = 0;  // the next argument
    };
    std::unordered_map<const Node*, std::size_t> item_of;
    std::vector<Visit> path;
    for (const std::shared_ptr<Node>& root : wanted) {
        if (!item_of.contains(root.get())) path.push_back({root});
        while (!path.empty()) {
            Visit& visit = path.back();
            const std::shared_ptr<Node> node = visit.node;
            bind(*node);
            const bool has_value = node->host || node->device;
            if (!has_value && visit.next < node->arguments.size()) {
                const std::shared_ptr<Node>& argument = node->arguments[visit.next++];
                if (!item_of.contains(argument.get())) path.push_back({argument});
                continue;
            }
            path.pop_back();
            if (item_of.contains(node.get())) continue;
            const std::size_t added = add_item(node);
            item_of.emplace(node.get(), added);
            if (has_value) continue;
            for (const std::shared_ptr<Node>& argument : node->arguments) {
                const std::size_t number = item_of.at(argument.get());
                items_[added].arguments.push_back(number);
                ++items_[number].uses;
            }
        }
        items_[item_of.at(root.get())].is_wanted = true;
    }
}

void Evaluation::run() {
    core_.mutex.assert_held();  // see the constructor
    place();
    std::vector<std::vector<std::size_t>> levels;
    for (std::size_t i = 0; i < items_.size(); ++i) {
        if (items_[i].kind == Kind::kValue) continue;
        levels.resize(std::max(levels.size(), items_[i].level + 1));
        levels[items_[i].level].push_back(i);
    }
    for (const std::vector<std::size_t>& level : levels) {
        for (const std::size_t item : level) {
            if (items_[item].kind == Kind::kHost) {
                run_item_on_host(item);
            } else if (items_[item].group == item) {
                std::vector<std::size_t> group;
                std::ranges::copy_if(level, std::back_inserter(group), [&](std::size_t other) {
                    return items_[other].kind != Kind::kHost && items_[other].group == item;
                });
                run_group(group);
            }
        }
    }
    wait_for_device();
    commit();
}

void Evaluation::commit() noexcept {
    for (Item& item : items_) {
        if (!item.is_wanted || !item.function) continue;
        item.node->host = std::move(item.host);
        item.node->device = std::move(item.device);
        item.node->function.reset();
        item.node->arguments.clear();
    }
}

DeviceStream& Evaluation::stream_to_use() {
    DeviceStream& stream = core_.stream();
    has_submitted_ = true;
    return stream;
}

void Evaluation::wait_for_device() {
    if (!has_submitted_) return;
    core_.stream().synchronize();
    has_submitted_ = false;
    for (const Move& move : moves_) {
        core_.ordinary_in.add(static_cast<double>(move.bytes), move.begin.seconds_until(move.end), core_.runs);
    }
    moves_.clear();
}

// Returns the value on the host. A copy made here is kept until its last use.
const Value& Evaluation::host_value_of(std::size_t value, std::size_t consumer) {
    Item& it = items_[value];
    if (it.host) return it.host;
    if (!it.node->type->can_move) return it.device;
    it.host = it.node->type->to(it.device.get(), Side::kHost, stream_to_use());
    wait_for_device();
    core_.report[items_[consumer].report].bytes_out += it.node->type->bytes(it.host.get());
    return it.host;
}

const Value& Evaluation::device_value_of(std::size_t value, std::size_t consumer) {
    Item& it = items_[value];
    if (it.device) return it.device;
    if (!it.node->type->can_move) return it.host;
    const std::uint64_t bytes = it.node->type->bytes(it.host.get());
    DeviceStream& stream = stream_to_use();
    Move move{{}, {}, bytes};
    move.begin.record(stream);
    it.device = it.node->type->to(it.host.get(), Side::kDevice, stream);
    move.end.record(stream);
    if (!it.node->type->is_pinned(it.host.get())) moves_.push_back(std::move(move));
    core_.report[items_[consumer].report].bytes_in += bytes;
    return it.device;
}

// Counts one consumer as done. The last one frees the value.
void Evaluation::used(std::size_t item) {
    Item& it = items_[item];
    if (--it.uses > 0 || it.is_wanted) return;
    it.host.reset();
    it.device.reset();
}

void Evaluation::run_item_on_host(std::size_t item) {
    Item& it = items_[item];
    start_report(item, Side::kHost);
    std::vector<const void*> arguments;
    arguments.reserve(it.arguments.size());
    for (const std::size_t argument : it.arguments) arguments.push_back(host_value_of(argument, item).get());
    const double bytes = argument_bytes(it);
    const double begin = core_.clock->seconds();
    it.host = it.function->host(*core_.memory.manager, arguments);
    const double seconds = core_.clock->seconds() - begin;
    it.bytes = it.node->type->bytes(it.host.get());
    core_.report[it.report].taken = seconds;
    core_.rates.add(*it.function, Side::kHost, bytes, seconds, core_.runs);
    for (const std::size_t argument : it.arguments) used(argument);
}

}  // namespace offload

void Context::evaluate_nodes(std::initializer_list<std::shared_ptr<offload::Node>> nodes) {
    const offload::Core::Use use(*core());
    offload::Evaluation(core(), std::span(nodes.begin(), nodes.size())).run();
}

}  // namespace cleave
