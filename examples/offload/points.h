// A plain library that finds clusters of points: DBSCAN (Ester, Kriegel, Sander, Xu, 1996) on a grid. cluster.h
// annotates it.
//
// A point is a core point if at least `least` points, itself included, are within `radius`. Core points within `radius`
// of each other belong to the same cluster. Any other point within `radius` of a core point belongs to its cluster; the
// rest is noise. The sides of a cell are radius / sqrt(2), so all points of a cell are close to each other, and only
// the 24 cells around it can have points that are close, too.
#pragma once

#include "loops.h"
#include "tables.h"

namespace numbers {

// Points in the order of their cells.
struct Grid {
    Numbers x;
    Numbers y;
    Column<std::uint32_t> order;   // the original number of each point
    Column<std::uint32_t> starts;  // the first point of each cell, row by row, and one more
    std::uint32_t width = 0;       // cells
    std::uint32_t height = 0;
    double left = 0;  // of the first cell
    double bottom = 0;
    double radius = 0;
};

inline GridView view_of(const Grid& grid) {
    return {grid.x.data, grid.y.data, grid.starts.data, grid.width, grid.height, grid.left, grid.bottom, grid.radius};
}

using Links = Column<std::uint16_t>;     // of each cell: bit k is set if core points link it with cell kForward[k]
using Clusters = Column<std::uint32_t>;  // of each cell: the first cell of its cluster
using Labels = Column<std::uint32_t>;    // of each point: the same

Grid grid_of(const Numbers& x, const Numbers& y, double radius);
Flags core_points(const Grid& grid, std::uint32_t least);
Links find_links(const Grid& grid, const Flags& core);
Clusters join(const Grid& grid, const Links& links);
// Labels of the points in their original order; kNoise for noise. Where a point could belong to several clusters, it
// gets the one with the lowest number.
Labels label(const Grid& grid, const Flags& core, const Clusters& clusters);

}  // namespace numbers
