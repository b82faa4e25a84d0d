// Prints the sum of the prices of options. evaluate.h says where it computes.
#include <numeric>

#include "array.h"
#include "evaluate.h"
#include "inputs.h"
#include "run_with_count.h"
#include "workloads.h"

int main(int argc, char** argv) {
    return run_with_count(argc, argv, [](std::uint64_t count) {
        const annotated::Numbers price = inputs::uniform(count, 10, 100, 1);
        const annotated::Numbers strike = inputs::uniform(count, 10, 100, 2);
        const annotated::Numbers years = inputs::uniform(count, 0.25, 10, 3);
        const annotated::Numbers rate = annotated::full(count, 0.02);
        const annotated::Numbers volatility = annotated::full(count, 0.3);
        const auto prices = annotated::evaluate(workloads::blackscholes(price, strike, years, rate, volatility));
        std::cout << std::reduce(prices.values().begin(), prices.values().end()) << '\n';
    });
}
