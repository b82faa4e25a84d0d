#include "features/gpu/placement.h"

#include <algorithm>
#include <cstdint>

namespace cleave {
namespace {

constexpr double kNothing = 1e-15;  // in seconds; anything smaller is a rounding error

// The maximum flow from one vertex to another, with Dinic's algorithm.
class Network {
public:
    explicit Network(std::size_t vertices) : arcs_of_(vertices), level_(vertices), next_(vertices) {}

    std::size_t add_vertex() {
        arcs_of_.emplace_back();
        level_.push_back(0);
        next_.push_back(0);
        return arcs_of_.size() - 1;
    }

    void add_arc(std::size_t from, std::size_t to, double capacity, double back = 0) {
        arcs_of_[from].push_back(arcs_.size());
        arcs_.push_back({to, capacity});
        arcs_of_[to].push_back(arcs_.size());
        arcs_.push_back({from, back});
    }

    // For each vertex, whether it is on the sink's side of the minimum cut. If there are several minimum cuts, uses the
    // one with the fewest vertices on that side.
    std::vector<bool> cut(std::size_t source, std::size_t sink) {
        while (find_levels(source, sink)) {
            std::ranges::fill(next_, 0);
            while (push_path(source, sink)) {
            }
        }
        return reaching(sink);
    }

private:
    struct Arc {
        std::size_t to;
        double left;  // unused capacity
    };

    bool find_levels(std::size_t source, std::size_t sink) {
        std::ranges::fill(level_, SIZE_MAX);
        level_[source] = 0;
        std::vector<std::size_t> queue{source};
        for (std::size_t i = 0; i < queue.size(); ++i) {
            for (const std::size_t arc : arcs_of_[queue[i]]) {
                const auto& [to, left] = arcs_[arc];
                if (left <= kNothing || level_[to] != SIZE_MAX) continue;
                level_[to] = level_[queue[i]] + 1;
                queue.push_back(to);
            }
        }
        return level_[sink] != SIZE_MAX;
    }

    // Finds one more path along the levels and saturates it.
    bool push_path(std::size_t source, std::size_t sink) {
        std::vector<std::size_t> path;
        std::size_t at = source;
        while (at != sink) {
            std::size_t& next = next_[at];
            while (next < arcs_of_[at].size()) {
                const Arc& arc = arcs_[arcs_of_[at][next]];
                if (arc.left > kNothing && level_[arc.to] == level_[at] + 1) break;
                ++next;
            }
            if (next < arcs_of_[at].size()) {
                path.push_back(arcs_of_[at][next]);
                at = arcs_[path.back()].to;
            } else if (at == source) {
                return false;
            } else {  // a dead end
                at = arcs_[path.back() ^ 1].to;
                path.pop_back();
                ++next_[at];
            }
        }
        double amount = kNever;
        for (const std::size_t arc : path) amount = std::min(amount, arcs_[arc].left);
        for (const std::size_t arc : path) {
            arcs_[arc].left -= amount;
            arcs_[arc ^ 1].left += amount;
        }
        return true;
    }

    std::vector<bool> reaching(std::size_t sink) const {
        std::vector<bool> reaches(arcs_of_.size(), false);
        reaches[sink] = true;
        std::vector<std::size_t> queue{sink};
        for (std::size_t i = 0; i < queue.size(); ++i) {
            for (const std::size_t arc : arcs_of_[queue[i]]) {
                const std::size_t from = arcs_[arc].to;  // the opposite arc leads from `from` to here
                if (reaches[from] || arcs_[arc ^ 1].left <= kNothing) continue;
                reaches[from] = true;
                queue.push_back(from);
            }
        }
        return reaches;
    }

    std::vector<Arc> arcs_;  // an arc is next to its opposite
    std::vector<std::vector<std::size_t>> arcs_of_;
    std::vector<std::size_t> level_;
    std::vector<std::size_t> next_;
};

std::vector<std::vector<std::size_t>> consumers_of(const std::vector<PlacementNode>& nodes) {
    std::vector<std::vector<std::size_t>> consumers(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        for (const std::size_t argument : nodes[i].arguments) {
            if (consumers[argument].empty() || consumers[argument].back() != i) consumers[argument].push_back(i);
        }
    }
    return consumers;
}

bool can_follow(const std::vector<PlacementNode>& nodes, const std::vector<std::vector<std::size_t>>& consumers,
                std::size_t node) {
    return nodes[node].is_allocation && nodes[node].device != kNever && !consumers[node].empty();
}

}  // namespace

std::vector<Side> cheapest_places(const std::vector<PlacementNode>& nodes) {
    const std::size_t source = nodes.size();
    const std::size_t sink = source + 1;
    Network network(nodes.size() + 2);
    const auto consumers = consumers_of(nodes);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const PlacementNode& node = nodes[i];
        network.add_arc(source, i, node.device);
        network.add_arc(i, sink, node.host);
        if (can_follow(nodes, consumers, i)) network.add_arc(i, consumers[i].front(), kNever, kNever);
        if (node.to_device > 0 && !consumers[i].empty()) {
            const std::size_t moved = network.add_vertex();
            network.add_arc(i, moved, node.to_device);
            for (const std::size_t consumer : consumers[i]) network.add_arc(moved, consumer, kNever);
        }
        if (node.to_host > 0 && (!consumers[i].empty() || node.is_wanted)) {
            const std::size_t moved = network.add_vertex();
            network.add_arc(moved, i, node.to_host);
            for (const std::size_t consumer : consumers[i]) network.add_arc(consumer, moved, kNever);
            if (node.is_wanted) network.add_arc(source, moved, kNever);
        }
    }
    const std::vector<bool> is_on_device = network.cut(source, sink);
    std::vector<Side> places(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) places[i] = is_on_device[i] ? Side::kDevice : Side::kHost;
    return places;
}

double seconds_of(const std::vector<PlacementNode>& nodes, const std::vector<Side>& places) {
    double seconds = 0;
    const auto consumers = consumers_of(nodes);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const PlacementNode& node = nodes[i];
        const bool is_on_host = places[i] == Side::kHost;
        seconds += is_on_host ? node.host : node.device;
        const bool is_elsewhere =
            std::ranges::any_of(consumers[i], [&](std::size_t consumer) { return places[consumer] != places[i]; });
        if (is_elsewhere || (!is_on_host && node.is_wanted)) seconds += is_on_host ? node.to_device : node.to_host;
    }
    return seconds;
}

void settle_allocations(const std::vector<PlacementNode>& nodes, std::vector<Side>& places) {
    const auto consumers = consumers_of(nodes);
    for (std::size_t i = nodes.size(); i-- > 0;) {
        if (can_follow(nodes, consumers, i)) places[i] = places[consumers[i].front()];
    }
}

}  // namespace cleave
