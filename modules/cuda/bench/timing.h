// How the benchmarks measure time: 23 runs, the first 3 of which do not count. A run includes everything that a caller
// waits for: allocation, launches, and waiting for the device. The result of the previous run is released outside the
// timed part.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "cuda/device.h"

namespace cleave::cuda {

struct Timing {
    double best_us = 0;
    double median_us = 0;
};

// `run` returns its result.
template <class Run>
Timing time_runs(Device& device, Run run) {
    constexpr int kRuns = 23;
    constexpr int kNotCounted = 3;
    std::vector<double> times;
    for (int i = 0; i < kRuns; ++i) {
        device.wait();
        const auto begin = std::chrono::steady_clock::now();
        const auto made = run();
        device.wait();
        const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - begin;
        if (i >= kNotCounted) times.push_back(taken.count());
    }
    std::sort(times.begin(), times.end());
    return {times.front(), times[times.size() / 2]};
}

}  // namespace cleave::cuda
