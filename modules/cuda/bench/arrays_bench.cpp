// Times the annotated library of examples/offload/array.h on the CPU, on a GPU, and wherever the runtime places it.
//
//   arrays_bench [COUNT...]      10,000 to 100,000,000 numbers by default
//
// The graphs are sqrt(arcsin(x) * 0.25) and, with a single function, x * x. A run is one evaluation and ends when the
// result is on the host; the device is already open. Times are medians of 5 runs, after 2 that do not count. `gain` is
// the CPU time divided by the GPU time. The exit status is 1 if a device's numbers differ from the CPU's by more than
// rounding errors.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <vector>

#include "array.h"
#include "cleave/experimental/machine_profile.h"

namespace {

using cleave::DevicePolicy;
using Graph = std::function<cleave::Lazy<Array>(const Array& input)>;

struct Job {
    const char* name;
    Graph graph;
};

const std::vector<Job>& all_jobs() {
    static const std::vector<Job> jobs{
        {"sqrt(arcsin(x) * 0.25)",
         [](const Array& x) { return square_root(multiply(arcsin(x), allocate(x.size, 0.25))); }},
        {"x * x", [](const Array& x) { return multiply(x, x); }},
    };
    return jobs;
}

struct Outcome {
    double seconds = 0;
    std::vector<double> numbers;
    bool is_on_device = false;
};

Outcome run(const cleave::ContextOptions& options, const Job& job, const Array& input) {
    constexpr int kRuns = 7;
    constexpr int kNotCounted = 2;
    cleave::Context context(options);  // keeps the rates measured in the first runs
    Outcome outcome;
    std::vector<double> times;
    for (int i = 0; i < kRuns; ++i) {
        const cleave::Lazy<Array> result = job.graph(input);
        const auto begin = std::chrono::steady_clock::now();
        const Array& made = context.get(result);
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        if (i >= kNotCounted) times.push_back(taken.count());
        if (i + 1 < kRuns) continue;
        outcome.numbers.assign(made.numbers().begin(), made.numbers().end());
        outcome.is_on_device = std::ranges::any_of(
            context.report(), [](const cleave::NodeReport& node) { return node.side == cleave::Side::kDevice; });
    }
    std::ranges::sort(times);
    outcome.seconds = times[times.size() / 2];
    return outcome;
}

bool are_close(const std::vector<double>& a, const std::vector<double>& b) {
    return std::ranges::equal(a, b, [](double x, double y) { return std::abs(x - y) <= 1e-14 * std::abs(x); });
}

bool time_counts(const std::vector<std::uint64_t>& counts) {
    cleave::ContextOptions options;
    options.memory = cleave::MemoryManager::open("system");
    options.device = cleave::open_device("gpu");
    options.profile = cleave::measure_machine(*options.device, options.memory);
    bool are_right = true;
    std::vector<double> gains;
    for (const Job& job : all_jobs()) {
        for (const std::uint64_t count : counts) {
            const Array input = Array::on_host(*options.memory, count);
            for (std::uint64_t i = 0; i < count; ++i) {
                input.data()[i] = static_cast<double>(i) / static_cast<double>(count);
            }
            options.policy = DevicePolicy::kCpu;
            const Outcome on_cpu = run(options, job, input);
            options.policy = DevicePolicy::kGpu;
            const Outcome on_gpu = run(options, job, input);
            options.policy = DevicePolicy::kAuto;
            const Outcome chosen = run(options, job, input);
            const bool is_right =
                are_close(on_cpu.numbers, on_gpu.numbers) && are_close(on_cpu.numbers, chosen.numbers);
            are_right = are_right && is_right;
            gains.push_back(on_cpu.seconds / on_gpu.seconds);
            std::printf("%-24s %11llu  cpu %9.6f s  gpu %9.6f s  auto %9.6f s on the %-6s  gain %6.2f %s\n", job.name,
                        static_cast<unsigned long long>(count), on_cpu.seconds, on_gpu.seconds, chosen.seconds,
                        chosen.is_on_device ? "device" : "CPU", gains.back(), is_right ? "right" : "WRONG");
            std::fflush(stdout);
        }
    }
    std::ranges::sort(gains);
    std::printf("gain: most %.2f, median %.2f, least %.2f\n", gains.back(), gains[gains.size() / 2], gains.front());
    return are_right;
}

}  // namespace

int main(int count, char** words) {
    try {
        std::vector<std::uint64_t> counts;
        for (int i = 1; i < count; ++i) counts.push_back(std::strtoull(words[i], nullptr, 10));
        if (counts.empty()) counts = {10'000, 100'000, 1'000'000, 10'000'000, 100'000'000};
        return time_counts(counts) ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "arrays_bench: %s\n", error.what());
        return 1;
    }
}
