// Prints how many clusters points form, and how many points are noise. evaluate.h says where it computes; the grid is
// always made, and clusters are always joined, on the CPU.
#include <algorithm>
#include <set>

#include "cluster.h"
#include "evaluate.h"
#include "inputs.h"
#include "run_with_count.h"
#include "workloads.h"

int main(int argc, char** argv) {
    return run_with_count(argc, argv, [](std::uint64_t count) {
        const inputs::Points points = inputs::points(count);
        const annotated::Numbers x = points.x;
        const annotated::Numbers y = points.y;
        const auto made = annotated::evaluate(workloads::dbscan(x, y, 1.0, 10));
        const std::span<const std::uint32_t> labels = made.values();
        std::set<std::uint32_t> clusters(labels.begin(), labels.end());
        clusters.erase(numbers::kNoise);
        std::cout << clusters.size() << " clusters, " << std::ranges::count(labels, numbers::kNoise)
                  << " points of noise\n";
    });
}
