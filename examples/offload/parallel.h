// Loops of the plain libraries, on all cores.
#pragma once

#include <algorithm>
#include <cstdint>

// For functions with loops: they are compiled for several generations of CPUs, and the fastest that runs is chosen when
// the program starts. Sanitizers cannot instrument that choice.
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define VECTORS [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define VECTORS
#endif

namespace numbers {

constexpr std::uint64_t kChunk = std::uint64_t{1} << 14;  // elements; fewer are not worth a second core

// Calls body(begin, end) for parts of the range from 0 to `count`, on all cores.
template <class Body>
void in_parallel(std::uint64_t count, Body body) {
    const auto chunks = static_cast<std::int64_t>((count + kChunk - 1) / kChunk);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        const std::uint64_t begin = static_cast<std::uint64_t>(chunk) * kChunk;
        body(begin, std::min(begin + kChunk, count));
    }
}

// Calls body(i) for each i below `count`.
template <class Body>
void for_each_index(std::uint64_t count, Body body) {
    in_parallel(count, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) body(i);
    });
}

}  // namespace numbers
