// The library of points.h, annotated. The grid is made, and clusters are joined, on the CPU alone; everything else has
// two bodies.
#pragma once

#include "points.h"
#include "text.h"

template <>
struct cleave::SplitType<numbers::Grid> {
    using Grid = numbers::Grid;
    using OfNumbers = SplitType<numbers::Numbers>;
    using OfIndices = SplitType<numbers::Column<std::uint32_t>>;

    static Side device(const Grid& value) { return OfNumbers::device(value.x); }
    static std::uint64_t bytes(const Grid& value) {
        return value.x.bytes() + value.y.bytes() + value.order.bytes() + value.starts.bytes();
    }
    static Grid to(const Grid& value, Side side, DeviceStream& stream) {
        Grid moved = value;
        moved.x = OfNumbers::to(value.x, side, stream);
        moved.y = OfNumbers::to(value.y, side, stream);
        moved.order = OfIndices::to(value.order, side, stream);
        moved.starts = OfIndices::to(value.starts, side, stream);
        return moved;
    }
};

namespace numbers {

using LazyGrid = cleave::Lazy<Grid>;
using LazyLinks = cleave::Lazy<Links>;
using LazyClusters = cleave::Lazy<Clusters>;

// Rates are in seconds per byte, see cost_of_loop(). A point takes about 24 bytes of a grid, and a cell about 100.
inline cleave::Cost cost_of_points(double host, double bytes_of_result) {
    cleave::Cost cost{.host = cleave::Rate{1e-5, host}, .device = cleave::Rate{1e-5, host / 50}};
    cost.result_bytes = [=](std::span<const std::uint64_t> bytes) {
        return static_cast<std::uint64_t>(static_cast<double>(bytes[0]) * bytes_of_result);
    };
    return cost;
}

inline const auto gridded = cleave::annotate<Grid(Numbers, Numbers, double)>(
    "grid", [](const Numbers& x, const Numbers& y, double radius) { return grid_of(x, y, radius); }, nullptr,
    cost_of_points(1e-9, 3));

inline const auto with_core_points = cleave::annotate<Flags(Grid, std::uint32_t)>(
    "core points", [](const Grid& grid, std::uint32_t least) { return core_points(grid, least); },
    [](cleave::DeviceStream& stream, const Grid& grid, std::uint32_t least) {
        return make_flags(stream, grid.x.size, grid.x.bytes(),
                          [=, view = view_of(grid), points = grid.x.size](std::uint8_t* core, void* native) {
                              device::core_points(view, least, core, points, native);
                          });
    },
    cost_of_points(5e-10, 0.04));

inline const auto linked = cleave::annotate<Links(Grid, Flags)>(
    "links", [](const Grid& grid, const Flags& core) { return find_links(grid, core); },
    [](cleave::DeviceStream& stream, const Grid& grid, const Flags& core) {
        const Links links = make_on_device<std::uint16_t>(stream, grid.starts.size - 1);
        stream.run({"links", grid.x.bytes()}, [view = view_of(grid), core = core.data, links = links.data](
                                                  void* native) { device::find_links(view, core, links, native); });
        return links;
    },
    cost_of_points(5e-10, 0.02));

inline const auto joined = cleave::annotate<Clusters(Grid, Links)>(
    "join", [](const Grid& grid, const Links& links) { return join(grid, links); }, nullptr,
    cost_of_points(1e-10, 0.04));

inline const auto labelled = cleave::annotate<Labels(Grid, Flags, Clusters)>(
    "label", [](const Grid& grid, const Flags& core, const Clusters& clusters) { return label(grid, core, clusters); },
    [](cleave::DeviceStream& stream, const Grid& grid, const Flags& core, const Clusters& clusters) {
        const Labels labels = make_on_device<std::uint32_t>(stream, grid.x.size);
        stream.run({"label", grid.x.bytes()},
                   [view = view_of(grid), core = core.data, clusters = clusters.data, order = grid.order.data,
                    labels = labels.data, points = grid.x.size](void* native) {
                       device::label(view, core, clusters, order, labels, points, native);
                   });
        return labels;
    },
    cost_of_points(3e-10, 0.16));

inline LazyGrid grid_of(const LazyNumbers& x, const LazyNumbers& y, double radius) { return gridded(x, y, radius); }
inline LazyFlags core_points(const LazyGrid& grid, std::uint32_t least) { return with_core_points(grid, least); }
inline LazyLinks find_links(const LazyGrid& grid, const LazyFlags& core) { return linked(grid, core); }
inline LazyClusters join(const LazyGrid& grid, const LazyLinks& links) { return joined(grid, links); }
inline cleave::Lazy<Labels> label(const LazyGrid& grid, const LazyFlags& core, const LazyClusters& clusters) {
    return labelled(grid, core, clusters);
}

}  // namespace numbers
