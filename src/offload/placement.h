// Where each node of a graph runs. Knows times only: no values and no devices.
//
// The time of a placement is the sum of what its bodies take, and what the moves between them take. A value is moved
// once, however many consumers it has at the other place. The least sum is a minimum cut (Stone, "Multiprocessor
// scheduling with the aid of network flow algorithms", 1977): nodes that run on the host stay on the source's side.
//
//   source --device seconds--> node --host seconds--> sink           the arc of the place that is chosen is cut
//   node --to_device--> d,  d --infinite--> each consumer            cut if the node is on the host, and any consumer
//   is
//                                                                    on the device
//   each consumer --infinite--> h,  h --to_host--> node              the other way round
//
// The cut is found by the algorithm of Dinic. It is exact for every graph, where dynamic programming is exact for trees
// only; graphs have some tens of nodes. Of equal cuts the one with the most nodes on the host is taken.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "cleave/device.h"

namespace cleave {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Seconds. A value from the start has no arguments and takes no time; its place is forced by kNever.
struct PlacementNode {
    double host = 0;
    double device = kNever;              // kNever if it cannot run there
    std::vector<std::size_t> arguments;  // nodes before this one
    double to_device = 0;                // to move the result; 0 if it is at both places
    double to_host = 0;
    bool is_wanted = false;      // on the host, at the end
    bool is_allocation = false;  // runs where its first consumer runs, if it can
};

// For each node its place, by the least time.
std::vector<Side> cheapest_places(const std::vector<PlacementNode>& nodes);

// What a placement takes.
double seconds_of(const std::vector<PlacementNode>& nodes, const std::vector<Side>& places);

// Puts each allocation where its first consumer is, if it can run there.
void settle_allocations(const std::vector<PlacementNode>& nodes, std::vector<Side>& places);

}  // namespace cleave
