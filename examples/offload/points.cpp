#include "points.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>
#include <vector>

#include "loops.h"
#include "parallel.h"

namespace numbers {
namespace {

using Cell = std::atomic_ref<std::uint32_t>;

struct Range {
    double least = HUGE_VAL;
    double most = -HUGE_VAL;
};

Range range_of(const Numbers& x) {
    std::vector<Range> ranges(x.size / kChunk + 1);
    in_parallel(x.size, [&](std::uint64_t begin, std::uint64_t end) {
        const auto [least, most] = std::minmax_element(x.data + begin, x.data + end);
        ranges[begin / kChunk] = {*least, *most};
    });
    Range all;
    for (const Range& range : ranges) all = {std::min(all.least, range.least), std::max(all.most, range.most)};
    return all;
}

VECTORS void find_core_points(const GridView& grid, std::uint32_t least, std::uint8_t* core, std::uint64_t begin,
                              std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) core[i] = is_core(grid, least, static_cast<std::uint32_t>(i)) ? 1 : 0;
}

// Replaces each number by the sum of those before it.
void sum_before(Column<std::uint32_t>& numbers) {
    std::vector<std::uint32_t> sums(numbers.size / kChunk + 1, 0);
    in_parallel(numbers.size, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) sums[begin / kChunk] += numbers.data[i];
    });
    std::uint32_t before = 0;
    for (std::uint32_t& sum : sums) before += std::exchange(sum, before);
    in_parallel(numbers.size, [&](std::uint64_t begin, std::uint64_t end) {
        std::uint32_t sum = sums[begin / kChunk];
        for (std::uint64_t i = begin; i < end; ++i) sum += std::exchange(numbers.data[i], sum);
    });
}

// Union-find without locks: a root is only ever replaced by a cell with a lower number, so all orders give the same
// roots in the end (Anderson and Woll, "Wait-free parallel algorithms for the union-find problem", 1991).
std::uint32_t root_of(std::uint32_t* parents, std::uint32_t cell) {
    for (;;) {
        std::uint32_t parent = Cell(parents[cell]).load(std::memory_order_relaxed);
        if (parent == cell) return cell;
        const std::uint32_t above = Cell(parents[parent]).load(std::memory_order_relaxed);
        if (above != parent) Cell(parents[cell]).compare_exchange_weak(parent, above);
        cell = above;
    }
}

void unite(std::uint32_t* parents, std::uint32_t one, std::uint32_t other) {
    for (;;) {
        one = root_of(parents, one);
        other = root_of(parents, other);
        if (one == other) return;
        if (one < other) std::swap(one, other);
        std::uint32_t root = one;
        if (Cell(parents[one]).compare_exchange_strong(root, other)) return;
    }
}

}  // namespace

// Sorts by counting the points of each cell.
Grid grid_of(const Numbers& x, const Numbers& y, double radius) {
    const Range of_x = range_of(x);
    const Range of_y = range_of(y);
    Grid grid{make_column<double>(x.size),
              make_column<double>(x.size),
              make_column<std::uint32_t>(x.size),
              {},
              0,
              0,
              of_x.least,
              of_y.least,
              radius};
    GridView view = view_of(grid);
    grid.width = view.width = static_cast<std::uint32_t>((of_x.most - grid.left) / view.side()) + 1;
    grid.height = view.height = static_cast<std::uint32_t>((of_y.most - grid.bottom) / view.side()) + 1;
    const std::uint64_t cells = std::uint64_t{grid.width} * grid.height;
    grid.starts = make_column<std::uint32_t>(cells + 1);
    Column<std::uint32_t> next = make_column<std::uint32_t>(cells + 1);
    for_each_index(cells + 1, [&](std::uint64_t i) { grid.starts.data[i] = 0; });
    for_each_index(x.size, [&](std::uint64_t i) {
        Cell(grid.starts.data[view.cell_of(x.data[i], y.data[i])]).fetch_add(1, std::memory_order_relaxed);
    });
    sum_before(grid.starts);
    copy_bytes(next.data, grid.starts.data, next.bytes());
    for_each_index(x.size, [&](std::uint64_t i) {
        const std::uint32_t to =
            Cell(next.data[view.cell_of(x.data[i], y.data[i])]).fetch_add(1, std::memory_order_relaxed);
        grid.x.data[to] = x.data[i];
        grid.y.data[to] = y.data[i];
        grid.order.data[to] = static_cast<std::uint32_t>(i);
    });
    return grid;
}

Flags core_points(const Grid& grid, std::uint32_t least) {
    Flags core = make_column<std::uint8_t>(grid.x.size);
    in_parallel(core.size, [&, view = view_of(grid)](std::uint64_t begin, std::uint64_t end) {
        find_core_points(view, least, core.data, begin, end);
    });
    return core;
}

Links find_links(const Grid& grid, const Flags& core) {
    Links links = make_column<std::uint16_t>(grid.starts.size - 1);
    for_each_index(links.size, [&, view = view_of(grid)](std::uint64_t cell) {
        links.data[cell] = links_of(view, core.data, static_cast<std::uint32_t>(cell));
    });
    return links;
}

Clusters join(const Grid& grid, const Links& links) {
    Clusters clusters = make_column<std::uint32_t>(links.size);
    for_each_index(links.size, [&](std::uint64_t i) { clusters.data[i] = static_cast<std::uint32_t>(i); });
    for_each_index(links.size, [&](std::uint64_t cell) {
        for (std::uint32_t k = 0; k < kLinks; ++k) {
            if ((links.data[cell] >> k & 1) == 0) continue;
            const Step step = forward(k);
            const std::int64_t other =
                static_cast<std::int64_t>(cell) + step.right + std::int64_t{step.up} * grid.width;
            unite(clusters.data, static_cast<std::uint32_t>(cell), static_cast<std::uint32_t>(other));
        }
    });
    for_each_index(links.size, [&](std::uint64_t cell) {
        const std::uint32_t root = root_of(clusters.data, static_cast<std::uint32_t>(cell));
        Cell(clusters.data[cell]).store(root, std::memory_order_relaxed);
    });
    return clusters;
}

Labels label(const Grid& grid, const Flags& core, const Clusters& clusters) {
    Labels labels = make_column<std::uint32_t>(grid.x.size);
    for_each_index(labels.size, [&, view = view_of(grid)](std::uint64_t i) {
        labels.data[grid.order.data[i]] = label_of(view, core.data, clusters.data, static_cast<std::uint32_t>(i));
    });
    return labels;
}

}  // namespace numbers
