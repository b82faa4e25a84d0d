// Compares the cheapest placement with all placements of small graphs.
#include "features/gpu/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace cleave::placement_test {

constexpr int kGraphs = 3000;

std::vector<PlacementNode> random_nodes(std::mt19937& random) {
    const auto up_to = [&](std::size_t most) { return static_cast<unsigned>(random() % (most + 1)); };
    std::vector<PlacementNode> nodes(1 + up_to(8));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        PlacementNode& node = nodes[i];
        node.to_device = up_to(3) == 0 ? 0 : up_to(20);
        node.to_host = node.to_device == 0 ? 0 : up_to(20);
        node.is_wanted = up_to(3) == 0;
        if (up_to(4) == 0) {  // a value
            node.host = up_to(2) == 0 ? kNever : 0;
            node.device = node.host == 0 ? kNever : 0;
            continue;
        }
        node.host = up_to(30);
        node.device = up_to(5) == 0 ? kNever : up_to(10);
        for (unsigned k = up_to(3); k > 0 && i > 0; --k) node.arguments.push_back(up_to(i - 1));
    }
    return nodes;
}

double least_of_all(const std::vector<PlacementNode>& nodes) {
    double least = kNever;
    for (std::size_t bits = 0; bits < std::size_t{1} << nodes.size(); ++bits) {
        std::vector<Side> places;
        places.reserve(nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i)
            places.push_back((bits >> i & 1) != 0 ? Side::kDevice : Side::kHost);
        least = std::min(least, seconds_of(nodes, places));
    }
    return least;
}

TEST(Placement, IsTheCheapestOfAll) {
    std::mt19937 random(1);  // NOLINT(bugprone-random-generator-seed): the same graphs each time
    for (int i = 0; i < kGraphs; ++i) {
        const std::vector<PlacementNode> nodes = random_nodes(random);
        ASSERT_DOUBLE_EQ(seconds_of(nodes, cheapest_places(nodes)), least_of_all(nodes)) << "graph " << i;
    }
}

TEST(Placement, PrefersTheHostIfBothAreEqual) {
    std::vector<PlacementNode> nodes(1);
    nodes[0].host = nodes[0].device = 5;
    EXPECT_EQ(cheapest_places(nodes).front(), Side::kHost);
}

TEST(Placement, PutsAnAllocationWhereItsFirstConsumerRuns) {
    std::vector<PlacementNode> nodes(3);
    nodes[0].is_allocation = true;
    nodes[0].device = 0;
    nodes[0].to_device = nodes[0].to_host = 1;
    nodes[1].host = 10;  // the first consumer is better on the device, the second cannot run there
    nodes[1].device = 1;
    nodes[1].arguments = {0};
    nodes[2].host = 1;
    nodes[2].arguments = {0};
    EXPECT_EQ(cheapest_places(nodes), (std::vector{Side::kDevice, Side::kDevice, Side::kHost}));
    std::vector<Side> places{Side::kHost, Side::kDevice, Side::kHost};
    settle_allocations(nodes, places);
    EXPECT_EQ(places.front(), Side::kDevice);
    std::swap(nodes[1], nodes[2]);
    EXPECT_EQ(cheapest_places(nodes), (std::vector{Side::kHost, Side::kHost, Side::kDevice}));
}

}  // namespace cleave::placement_test
