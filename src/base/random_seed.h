// The seed of a hash table whose keys come from the input.
#pragma once

#include <cstdint>
#include <random>

namespace cleave {

// Another number each time: whoever wrote the input cannot have chosen keys that all lie in one slot.
inline std::uint64_t random_seed() {
    std::random_device source;
    return std::uint64_t{source()} << 32 | source();
}

}  // namespace cleave
