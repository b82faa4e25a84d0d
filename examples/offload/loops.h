// What the libraries for the CPU and for a device do with one element.
#pragma once

#include <algorithm>
#include <string>

#include "operations.h"

namespace numbers {

struct TextsView {
    const std::uint32_t* offsets;
    const char* bytes;
    std::uint32_t first;
};

struct Prefix {
    explicit Prefix(const std::string& text) : size(static_cast<std::uint32_t>(std::min(text.size(), sizeof bytes))) {
        std::copy_n(text.data(), size, bytes);
    }

    char bytes[32] = {};
    std::uint32_t size;
};

BOTH inline bool has_prefix(const TextsView& texts, const Prefix& prefix, std::uint64_t i) {
    if (texts.offsets[i + 1] - texts.offsets[i] < prefix.size) return false;
    const char* const text = texts.bytes + (texts.offsets[i] - texts.first);
    for (std::uint32_t k = 0; k < prefix.size; ++k) {
        if (text[k] != prefix.bytes[k]) return false;
    }
    return true;
}

struct GridView {
    const double* x;
    const double* y;
    const std::uint32_t* starts;
    std::uint32_t width;
    std::uint32_t height;
    double left;
    double bottom;
    double radius;

    BOTH double side() const { return radius * 0.70710678; }  // a little less than radius / sqrt(2)
    BOTH std::uint32_t cell_of(double px, double py) const {
        const auto column = static_cast<std::uint32_t>((px - left) / side());
        const auto row = static_cast<std::uint32_t>((py - bottom) / side());
        return row * width + column;
    }
    BOTH bool are_close(std::uint32_t i, std::uint32_t k) const {
        const double dx = x[i] - x[k];
        const double dy = y[i] - y[k];
        return dx * dx + dy * dy <= radius * radius;
    }
};

constexpr std::uint32_t kNoise = ~std::uint32_t{0};
constexpr std::uint32_t kReach = 2;  // cells to each side
constexpr std::uint32_t kLinks = 12;

// The cells to the right and above that can have points within the radius: half of a square of 5 by 5 cells.
struct Step {
    int right;
    int up;
};
BOTH inline Step forward(std::uint32_t k) {
    if (k < 2) return {static_cast<int>(k) + 1, 0};
    if (k < 7) return {static_cast<int>(k) - 4, 1};
    if (k < 10) return {static_cast<int>(k) - 8, 2};
    return {static_cast<int>(k) == 10 ? -2 : 2, 2};
}

// Calls body(first, last) with the points of each row of cells around the cell, until it returns false.
template <class Body>
BOTH void for_rows_around(const GridView& grid, std::uint32_t cell, Body body) {
    const std::uint32_t column = cell % grid.width;
    const std::uint32_t row = cell / grid.width;
    const std::uint32_t left = column < kReach ? 0 : column - kReach;
    const std::uint32_t right = column + kReach < grid.width ? column + kReach : grid.width - 1;
    const std::uint32_t top = row + kReach < grid.height ? row + kReach : grid.height - 1;
    for (std::uint32_t at = row < kReach ? 0 : row - kReach; at <= top; ++at) {
        if (!body(grid.starts[at * grid.width + left], grid.starts[at * grid.width + right + 1])) return;
    }
}

BOTH inline bool is_core(const GridView& grid, std::uint32_t least, std::uint32_t point) {
    const std::uint32_t cell = grid.cell_of(grid.x[point], grid.y[point]);
    if (grid.starts[cell + 1] - grid.starts[cell] >= least) return true;
    std::uint32_t close = 0;
    for_rows_around(grid, cell, [&](std::uint32_t first, std::uint32_t last) {
        for (std::uint32_t i = first; i < last; ++i) close += static_cast<std::uint32_t>(grid.are_close(point, i));
        return close < least;
    });
    return close >= least;
}

BOTH inline bool are_linked(const GridView& grid, const std::uint8_t* core, std::uint32_t cell, std::uint32_t other) {
    for (std::uint32_t i = grid.starts[cell]; i < grid.starts[cell + 1]; ++i) {
        if (core[i] == 0) continue;
        for (std::uint32_t k = grid.starts[other]; k < grid.starts[other + 1]; ++k) {
            if (core[k] != 0 && grid.are_close(i, k)) return true;
        }
    }
    return false;
}

BOTH inline std::uint16_t links_of(const GridView& grid, const std::uint8_t* core, std::uint32_t cell) {
    std::uint32_t links = 0;
    for (std::uint32_t k = 0; k < kLinks; ++k) {
        const Step step = forward(k);
        const std::int64_t column = std::int64_t{cell % grid.width} + step.right;
        const std::int64_t row = std::int64_t{cell / grid.width} + step.up;
        if (column < 0 || column >= grid.width || row >= grid.height) continue;
        const auto other = static_cast<std::uint32_t>(row * grid.width + column);
        if (are_linked(grid, core, cell, other)) links |= 1U << k;
    }
    return static_cast<std::uint16_t>(links);
}

BOTH inline std::uint32_t label_of(const GridView& grid, const std::uint8_t* core, const std::uint32_t* clusters,
                                   std::uint32_t point) {
    const std::uint32_t cell = grid.cell_of(grid.x[point], grid.y[point]);
    if (core[point] != 0) return clusters[cell];
    std::uint32_t label = kNoise;
    for_rows_around(grid, cell, [&](std::uint32_t first, std::uint32_t last) {
        for (std::uint32_t i = first; i < last; ++i) {
            if (core[i] == 0 || !grid.are_close(point, i)) continue;
            const std::uint32_t found = clusters[grid.cell_of(grid.x[i], grid.y[i])];
            if (found < label) label = found;
        }
        return true;
    });
    return label;
}

}  // namespace numbers
