// A plain library for a GPU, as pointers and streams: what array.h, table.h and cluster.h run there. All pointers are
// to memory of the device, and all work is submitted to `stream`, a cudaStream_t.
#pragma once

#include <cstddef>
#include <cstdint>

#include "loops.h"
#include "operations.h"

namespace numbers::device {

// `y` may be null: then the second argument is `number` for all elements.
void compute(Operation operation, const double* x, const double* y, double number, double* out, std::uint64_t size,
             void* stream);
void fill(double value, double* out, std::uint64_t size, void* stream);

void compare(const double* x, bool is_greater, double limit, std::uint8_t* out, std::uint64_t size, void* stream);
void both(const std::uint8_t* x, const std::uint8_t* y, std::uint8_t* out, std::uint64_t size, void* stream);
void starts_with(const TextsView& texts, const Prefix& prefix, std::uint8_t* out, std::uint64_t size, void* stream);
void replace(const double* x, const std::uint8_t* flags, double value, double* out, std::uint64_t size, void* stream);

// Counts the flags: counts[counts_size(size) - 1] is the sum. The other counts are for keep().
std::uint64_t counts_size(std::uint64_t size);
void count(const std::uint8_t* flags, std::uint32_t* counts, std::uint64_t size, void* stream);
// Copies the numbers whose flags are set.
void keep(const double* x, const std::uint8_t* flags, const std::uint32_t* counts, double* out, std::uint64_t size,
          void* stream);

// sums[0] becomes the sum; the others are for work.
std::uint64_t sums_size(std::uint64_t size);
void sum(const double* x, double* sums, std::uint64_t size, void* stream);

void core_points(const GridView& grid, std::uint32_t least, std::uint8_t* core, std::uint64_t points, void* stream);
void find_links(const GridView& grid, const std::uint8_t* core, std::uint16_t* links, void* stream);
void label(const GridView& grid, const std::uint8_t* core, const std::uint32_t* clusters, const std::uint32_t* order,
           std::uint32_t* labels, std::uint64_t points, void* stream);

}  // namespace numbers::device
