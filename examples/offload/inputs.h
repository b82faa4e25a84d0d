// Made-up inputs for the workloads. The same numbers on every machine.
#pragma once

#include "tables.h"

namespace inputs {

// Numbers between `least` and `most`. Inputs of different kinds differ.
numbers::Numbers uniform(std::uint64_t size, double least, double most, std::uint64_t kind);

// Names of states of the USA.
numbers::Texts states(std::uint64_t size);

struct Points {
    numbers::Numbers x;
    numbers::Numbers y;
};

// Nine of ten points are in groups of 1024, about 50 others within a distance of 1 of each; the rest is
// anywhere.
Points points(std::uint64_t size);

}  // namespace inputs
