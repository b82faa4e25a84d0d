// Times the workloads of examples/offload for bench/gpu/offload.py: on the CPU, on a GPU, where the runtime places
// them, and by hand.
//
//   offload_bench WORKLOAD SIZE... [--ablations SIZE...]      prints one line of JSON for each way of each size
//
// Sizes after --ablations are also run without one of the runtime's abilities at a time. The environment variable
// OFFLOAD_DEVICE names the device ["gpu"]. A run is one evaluation and ends when the result is on the host. The device
// is open, its memory and the host's have been used before, and the inputs are in ordinary memory; `seconds` are of
// single runs. The rates of functions that "auto" knows are those of runs with a few other sizes. The exit status is 1
// if a result differs from the CPU's by more than rounding errors.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string_view>
#include <vector>

#include "cleave/experimental/machine_profile.h"
#include "offload_jobs.h"

namespace {

using cleave::DevicePolicy;
using offload_bench::Job;
using offload_bench::Variant;

constexpr std::uint64_t kCalibrated[] = {1 << 10, 1 << 12, 1 << 16, 1 << 20, 1 << 23};

double seconds_of(const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class Bench {
public:
    // `most` is the largest size to be measured.
    Bench(const offload_bench::Workload& workload, const std::string& device, std::uint64_t most)
        : workload_(workload) {
        options_.memory = cleave::MemoryManager::open("pool");
        options_.device = cleave::open_device(device);
        options_.profile = cleave::measure_machine(*options_.device, options_.memory);
        calibrate(most);
    }

    bool are_right() const { return are_right_; }

    void measure(std::uint64_t size, bool with_ablations) {
        const std::unique_ptr<Job> job = workload_.make(size);
        const auto evaluated = [&](const char* way, DevicePolicy policy, const Variant& variant,
                                   std::uint64_t device_memory) {
            cleave::ContextOptions options = options_;
            options.policy = policy;
            options.device_memory = device_memory;
            cleave::Context context(options);
            time(
                *job, way, size, [&] { job->evaluate(context, variant); }, &context);
        };
        job->compute_plainly();
        job->expect();
        evaluated("cpu", DevicePolicy::kCpu, {}, 0);
        evaluated("gpu", DevicePolicy::kGpu, {}, 0);
        evaluated("auto", DevicePolicy::kAuto, {}, 0);
        time(
            *job, "by hand", size, [&] { job->compute_by_hand(false); }, nullptr);
        if (!with_ablations) return;
        time(
            *job, "plain library", size, [&] { job->compute_plainly(); }, nullptr);
        if (job->has_allocations()) {
            evaluated("gpu, allocations on the cpu", DevicePolicy::kGpu, {.places_allocations = false}, 0);
            evaluated("auto, allocations on the cpu", DevicePolicy::kAuto, {.places_allocations = false}, 0);
        }
        evaluated("gpu, pinned inputs", DevicePolicy::kGpu, {.pins_inputs = true}, 0);
        time(
            *job, "by hand, pinned inputs", size, [&] { job->compute_by_hand(true); }, nullptr);
        if (!job->can_run_in_pages()) return;
        // As much memory as one column takes, which is not enough for the whole.
        const std::uint64_t memory = std::max<std::uint64_t>(size * sizeof(double), 1 << 16);
        evaluated("gpu, in pages", DevicePolicy::kGpu, {}, memory);
        evaluated("gpu, in pages, pinned inputs", DevicePolicy::kGpu, {.pins_inputs = true}, memory);
    }

private:
    void calibrate(std::uint64_t most) {
        cleave::ContextOptions options = options_;
        for (const DevicePolicy policy : {DevicePolicy::kGpu, DevicePolicy::kCpu}) {
            options.policy = policy;
            cleave::Context context(options);
            for (const std::uint64_t size : kCalibrated) {
                if (size > most) break;
                const std::unique_ptr<Job> job = workload_.make(size);
                for (int i = 0; i < 2; ++i) job->compute_plainly();  // the first columns are in new memory
                if (size == kCalibrated[0]) job->evaluate(context, {});
                for (int i = 0; i < 3; ++i) job->evaluate(context, {});
            }
            options.profile = context.profile();
        }
        options_.profile = options.profile;
    }

    void time(Job& job, const char* way, std::uint64_t size, const std::function<void()>& work,
              const cleave::Context* context) {
        constexpr double kEnough = 0.25;  // seconds
        work();                           // two results exist at times, and each is in memory that is new at first
        work();
        const bool is_right = job.is_right();
        are_right_ = are_right_ && is_right;
        std::vector<double> seconds;
        double sum = 0;
        while (seconds.size() < 3 || (sum < kEnough && seconds.size() < 25)) {
            seconds.push_back(seconds_of(work));
            sum += seconds.back();
        }
        std::printf("{\"workload\": \"%s\", \"size\": %llu, \"way\": \"%s\", \"right\": %s, \"seconds\": [",
                    workload_.name, static_cast<unsigned long long>(size), way, is_right ? "true" : "false");
        for (std::size_t i = 0; i < seconds.size(); ++i) std::printf("%s%.7f", i > 0 ? ", " : "", seconds[i]);
        std::printf("]");
        if (context != nullptr) {
            std::uint64_t on_device = 0;
            std::uint64_t pages = 0;
            double taken = 0;
            double moved_in = 0;
            double moved_out = 0;
            const std::vector<cleave::NodeReport> report = context->report();
            for (const cleave::NodeReport& node : report) {
                on_device += node.side == cleave::Side::kDevice ? 1 : 0;
                pages = std::max(pages, node.pages);
                taken += node.taken;
                moved_in += static_cast<double>(node.bytes_in);
                moved_out += static_cast<double>(node.bytes_out);
            }
            const std::string explained = context->explain();
            const std::string first = explained.substr(0, explained.find('\n'));
            std::printf(
                ", \"functions\": %zu, \"on the device\": %llu, \"pages\": %llu, \"in functions\": %.7f, "
                "\"in\": %.0f, \"out\": %.0f, \"explained\": \"%s\"",
                report.size(), static_cast<unsigned long long>(on_device), static_cast<unsigned long long>(pages),
                taken, moved_in, moved_out, first.c_str());
        }
        std::printf("}\n");
        std::fflush(stdout);
    }

    const offload_bench::Workload& workload_;
    cleave::ContextOptions options_;
    bool are_right_ = true;
};

}  // namespace

int main(int count, char** words) {
    try {
        const offload_bench::Workload* workload = nullptr;
        for (const offload_bench::Workload& one : offload_bench::kWorkloads) {
            if (count > 1 && std::string_view(words[1]) == one.name) workload = &one;
        }
        if (workload == nullptr)
            throw std::invalid_argument("usage: offload_bench WORKLOAD SIZE... [--ablations SIZE...]");
        const char* const device = std::getenv("OFFLOAD_DEVICE");
        std::uint64_t most = kCalibrated[0];
        for (int i = 2; i < count; ++i) most = std::max<std::uint64_t>(most, std::strtoull(words[i], nullptr, 10));
        Bench bench(*workload, device != nullptr ? device : "gpu", most);
        bool with_ablations = false;
        for (int i = 2; i < count; ++i) {
            if (std::string_view(words[i]) == "--ablations") {
                with_ablations = true;
            } else {
                bench.measure(std::strtoull(words[i], nullptr, 10), with_ablations);
            }
        }
        return bench.are_right() ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "offload_bench: %s\n", error.what());
        return 1;
    }
}
