// Prints an index of crime: a table of cities with a filter over texts and numbers. evaluate.h says where it computes.
#include "evaluate.h"
#include "inputs.h"
#include "run_with_count.h"
#include "table.h"
#include "workloads.h"

int main(int argc, char** argv) {
    return run_with_count(argc, argv, [](std::uint64_t count) {
        const cleave::Lazy<numbers::Texts> states = inputs::states(count);
        const annotated::Numbers population = inputs::uniform(count, 1e4, 2e6, 6);
        const annotated::Numbers adults = inputs::uniform(count, 5e3, 1e6, 7);
        const annotated::Numbers robberies = inputs::uniform(count, 0, 1000, 8);
        const auto index = annotated::evaluate(workloads::crime_index(states, population, adults, robberies));
        std::cout << index.value() << '\n';
    });
}
