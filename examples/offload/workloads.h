// What a user writes. Each function computes at once if it is given columns of a plain library, and makes a graph if it
// is given those of an annotated one.
#pragma once

#include "points.h"

namespace workloads {

// The prices of call options (Black and Scholes, 1973).
template <class Numbers>
Numbers blackscholes(const Numbers& price, const Numbers& strike, const Numbers& years, const Numbers& rate,
                     const Numbers& volatility) {
    const Numbers spread = volatility * sqrt(years);
    const Numbers d1 = (log(price / strike) + (rate + volatility * volatility * 0.5) * years) / spread;
    const Numbers d2 = d1 - spread;
    const Numbers of_price = erf(d1 * 0.70710678118654752) * 0.5 + 0.5;
    const Numbers of_strike = erf(d2 * 0.70710678118654752) * 0.5 + 0.5;
    return price * of_price - strike * exp(rate * years * -1) * of_strike;
}

// The distances of places from others, in miles; latitudes and longitudes are in radians.
template <class Numbers>
Numbers haversine(const Numbers& latitude, const Numbers& longitude, const Numbers& other_latitude,
                  const Numbers& other_longitude) {
    const Numbers up = sin((other_latitude - latitude) * 0.5);
    const Numbers along = sin((other_longitude - longitude) * 0.5);
    const Numbers a = up * up + cos(latitude) * cos(other_latitude) * along * along;
    return arcsin(sqrt(a)) * (2 * 3959.0);
}

// The sum of an index of robberies over the big cities of states with such a name.
template <class Numbers, class Texts>
auto crime_index(const Texts& states, const Numbers& population, const Numbers& adults, const Numbers& robberies) {
    const auto is_wanted = (population > 500000.0) & starts_with(states, "New ");
    const Numbers index = filter((population + adults * 2.0 - robberies * 2000.0) / 100000.0, is_wanted);
    const Numbers bounded = replace(index, index > 30.0, 32.0);
    return sum(replace(bounded, bounded < 10.0, 5.0));
}

// The cluster of each point, or numbers::kNoise.
template <class Numbers>
auto dbscan(const Numbers& x, const Numbers& y, double radius, std::uint32_t least) {
    const auto grid = grid_of(x, y, radius);
    const auto core = core_points(grid, least);
    return label(grid, core, join(grid, find_links(grid, core)));
}

}  // namespace workloads
