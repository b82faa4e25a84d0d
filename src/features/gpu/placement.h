// Decides where each node of a graph runs. Knows only times, and nothing about values or devices.
//
// A placement takes the time of its bodies plus the time of the transfers between them. A value is transferred once,
// however many consumers it has on the other side. The smallest total is a minimum cut (Stone, "Multiprocessor
// scheduling with the aid of network flow algorithms", 1977): nodes that run on the host stay on the source's side.
//
//   source --device seconds--> node --host seconds--> sink     the arc of the chosen place is cut
//   node --to_device--> d,  d --infinite--> each consumer      cut if the node is on the host and any consumer is
//                                                              on the device
//   each consumer --infinite--> h,  h --to_host--> node        the other way round
//
// Dinic's algorithm finds the cut. It is exact for every graph, whereas dynamic programming is exact only for trees;
// typical graphs have a few dozen nodes. Among equal cuts, it takes the one with the most nodes on the host.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "cleave/experimental/device.h"

namespace cleave {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Times in seconds. An initial value has no arguments and takes no time; kNever forces its place.
struct PlacementNode {
    double host = 0;
    double device = kNever;              // kNever if it cannot run there
    std::vector<std::size_t> arguments;  // earlier nodes
    double to_device = 0;                // to transfer the result; 0 if it is in both places
    double to_host = 0;
    bool is_wanted = false;      // needed on the host at the end
    bool is_allocation = false;  // runs where its first consumer runs, if it can
};

// The place of each node in the fastest placement.
std::vector<Side> cheapest_places(const std::vector<PlacementNode>& nodes);

// The time that a placement takes.
double seconds_of(const std::vector<PlacementNode>& nodes, const std::vector<Side>& places);

// Places each allocation where its first consumer runs, if it can run there.
void settle_allocations(const std::vector<PlacementNode>& nodes, std::vector<Side>& places);

}  // namespace cleave
