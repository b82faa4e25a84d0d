// Each function is a loop whose iterations are independent. What is not such a loop is a tree of them: a thread adds up
// the results of a few others.
#include "device.h"

#include <algorithm>

#include "each.h"

namespace numbers::device {
namespace {

constexpr std::uint64_t kTile = 64;  // elements that a thread adds up
constexpr std::uint64_t kLanes = 65536;
constexpr std::uint64_t kFewLanes = 256;

template <class Function>
struct OfNumber {
    const double* x;
    double y;
    double* out;
    Function function;
    __device__ void operator()(std::uint64_t i) const { out[i] = function(x[i], y); }
};

template <class Function>
struct OfBoth {
    const double* x;
    const double* y;
    double* out;
    Function function;
    __device__ void operator()(std::uint64_t i) const { out[i] = function(x[i], y[i]); }
};

std::uint64_t tiles_of(std::uint64_t size) { return (size + kTile - 1) / kTile; }

template <class T>
void add_tiles(const T* from, std::uint32_t* to, std::uint64_t size, void* stream) {
    each(
        tiles_of(size),
        [=] __device__(std::uint64_t tile) {
            std::uint32_t sum = 0;
            for (std::uint64_t i = tile * kTile; i < size && i < (tile + 1) * kTile; ++i) sum += from[i];
            to[tile] = sum;
        },
        stream);
}

// Lane k adds up the elements k, k + lanes, and so on.
void add_lanes(const double* from, double* to, std::uint64_t size, std::uint64_t lanes, void* stream) {
    each(
        lanes,
        [=] __device__(std::uint64_t lane) {
            double sum = 0;
            for (std::uint64_t i = lane; i < size; i += lanes) sum += from[i];
            to[lane] = sum;
        },
        stream);
}

}  // namespace

void compute(Operation operation, const double* x, const double* y, double number, double* out, std::uint64_t size,
             void* stream) {
    with_operation(operation, [=](auto function) {
        if (y == nullptr) {
            each(size, OfNumber<decltype(function)>{x, number, out, function}, stream);
        } else {
            each(size, OfBoth<decltype(function)>{x, y, out, function}, stream);
        }
    });
}

void fill(double value, double* out, std::uint64_t size, void* stream) {
    each(
        size, [=] __device__(std::uint64_t i) { out[i] = value; }, stream);
}

void compare(const double* x, bool is_greater, double limit, std::uint8_t* out, std::uint64_t size, void* stream) {
    each(
        size, [=] __device__(std::uint64_t i) { out[i] = (is_greater ? x[i] > limit : x[i] < limit) ? 1 : 0; }, stream);
}

void both(const std::uint8_t* x, const std::uint8_t* y, std::uint8_t* out, std::uint64_t size, void* stream) {
    each(
        size, [=] __device__(std::uint64_t i) { out[i] = x[i] & y[i]; }, stream);
}

void starts_with(const TextsView& texts, const Prefix& prefix, std::uint8_t* out, std::uint64_t size, void* stream) {
    each(
        size, [=] __device__(std::uint64_t i) { out[i] = has_prefix(texts, prefix, i) ? 1 : 0; }, stream);
}

void replace(const double* x, const std::uint8_t* flags, double value, double* out, std::uint64_t size, void* stream) {
    each(
        size, [=] __device__(std::uint64_t i) { out[i] = flags[i] != 0 ? value : x[i]; }, stream);
}

std::uint64_t counts_size(std::uint64_t size) {
    std::uint64_t total = 0;
    do {
        size = tiles_of(size);
        total += size;
    } while (size > 1);
    return total;
}

// The counts are a tree: those of tiles of flags, then those of tiles of counts, up to a single one.
void count(const std::uint8_t* flags, std::uint32_t* counts, std::uint64_t size, void* stream) {
    add_tiles(flags, counts, size, stream);
    for (size = tiles_of(size); size > 1; size = tiles_of(size)) {
        add_tiles(counts, counts + size, size, stream);
        counts += size;
    }
}

// Before a tile are, on each level of the tree, the counts to the left of the tile's ancestor that have the same
// parent.
void keep(const double* x, const std::uint8_t* flags, const std::uint32_t* counts, double* out, std::uint64_t size,
          void* stream) {
    each(
        tiles_of(size),
        [=] __device__(std::uint64_t tile) {
            std::uint64_t to = 0;
            const std::uint32_t* level = counts;
            std::uint64_t at = tile;
            for (std::uint64_t count = (size + kTile - 1) / kTile; count > 1; count = (count + kTile - 1) / kTile) {
                for (std::uint64_t i = at / kTile * kTile; i < at; ++i) to += level[i];
                level += count;
                at /= kTile;
            }
            for (std::uint64_t i = tile * kTile; i < size && i < (tile + 1) * kTile; ++i) {
                if (flags[i] != 0) out[to++] = x[i];
            }
        },
        stream);
}

std::uint64_t sums_size(std::uint64_t size) {
    const std::uint64_t lanes = std::min(kLanes, tiles_of(size));
    return 1 + std::min(kFewLanes, lanes) + lanes;
}

void sum(const double* x, double* sums, std::uint64_t size, void* stream) {
    const std::uint64_t lanes = std::min(kLanes, tiles_of(size));
    const std::uint64_t few_lanes = std::min(kFewLanes, lanes);
    double* const few = sums + 1;
    double* const many = few + few_lanes;
    add_lanes(x, many, size, lanes, stream);
    add_lanes(many, few, lanes, few_lanes, stream);
    add_lanes(few, sums, few_lanes, 1, stream);
}

void core_points(const GridView& grid, std::uint32_t least, std::uint8_t* core, std::uint64_t points, void* stream) {
    each(
        points,
        [=] __device__(std::uint64_t i) { core[i] = is_core(grid, least, static_cast<std::uint32_t>(i)) ? 1 : 0; },
        stream);
}

void find_links(const GridView& grid, const std::uint8_t* core, std::uint16_t* links, void* stream) {
    each(
        std::uint64_t{grid.width} * grid.height,
        [=] __device__(std::uint64_t cell) { links[cell] = links_of(grid, core, static_cast<std::uint32_t>(cell)); },
        stream);
}

void label(const GridView& grid, const std::uint8_t* core, const std::uint32_t* clusters, const std::uint32_t* order,
           std::uint32_t* labels, std::uint64_t points, void* stream) {
    each(
        points,
        [=] __device__(std::uint64_t i) {
            labels[order[i]] = label_of(grid, core, clusters, static_cast<std::uint32_t>(i));
        },
        stream);
}

}  // namespace numbers::device
