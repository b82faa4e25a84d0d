// Prints the mean distance of places from Boston.
#include <numeric>

#include "array.h"
#include "evaluate.h"
#include "inputs.h"
#include "run_with_count.h"
#include "workloads.h"

namespace np = annotated;

int main(int argc, char** argv) {
    return run_with_count(argc, argv, [](std::uint64_t count) {
        const np::Numbers latitude = inputs::uniform(count, -1.5, 1.5, 4);
        const np::Numbers longitude = inputs::uniform(count, -3, 3, 5);
        const np::Numbers result =
            workloads::haversine(latitude, longitude, np::full(count, 0.73935), np::full(count, -1.24016));
        const numbers::Numbers& miles = np::evaluate(result);
        std::cout << std::reduce(miles.values().begin(), miles.values().end()) / static_cast<double>(count) << '\n';
    });
}
