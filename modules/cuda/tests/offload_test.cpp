// Runs the workloads of examples/offload, with the kernels that they have for a GPU, wherever a context can place them,
// and compares the results with what the plain libraries give.
#include <gtest/gtest.h>

#include <algorithm>

#include "cleave/experimental/machine_profile.h"
#include "cuda/bench/offload_jobs.h"
#include "cuda/cuda_device.h"

namespace {

using cleave::DevicePolicy;
using cleave::Side;
using offload_bench::Job;
using offload_bench::Variant;

constexpr std::uint64_t kRows = 1000;

class Workloads : public testing::TestWithParam<offload_bench::Workload> {
protected:
    Workloads() : job_(GetParam().make(kRows)) {
        options_.device = std::make_shared<cleave::Device>((new cleave::cuda::CudaDevice(0, "cuda-async"))->face());
        job_->compute_plainly();
        job_->expect();
    }

    // Functions that ran on the device.
    std::ptrdiff_t run(DevicePolicy policy, const Variant& variant = {}, std::uint64_t device_memory = 0) {
        cleave::ContextOptions options = options_;
        options.policy = policy;
        options.device_memory = device_memory;
        cleave::Context context(options);
        job_->evaluate(context, variant);
        EXPECT_TRUE(job_->is_right()) << context.explain();
        report_ = context.report();
        return std::ranges::count(report_, Side::kDevice, &cleave::NodeReport::side);
    }
    bool has_host_functions() const { return !job_->can_run_in_pages(); }

    cleave::ContextOptions options_;
    std::unique_ptr<Job> job_;
    std::vector<cleave::NodeReport> report_;
};

TEST_P(Workloads, OnTheHost) { EXPECT_EQ(run(DevicePolicy::kCpu), 0); }

TEST_P(Workloads, OnTheDevice) {
    const std::ptrdiff_t on_device = run(DevicePolicy::kGpu);
    EXPECT_EQ(on_device == std::ssize(report_), !has_host_functions());
    EXPECT_GT(on_device, 0);
    run(DevicePolicy::kGpu, {.pins_inputs = true});
}

TEST_P(Workloads, WithAllocationsOnTheHost) {
    const std::ptrdiff_t functions = run(DevicePolicy::kGpu);
    EXPECT_EQ(run(DevicePolicy::kGpu, {.places_allocations = false}), functions - (job_->has_allocations() ? 2 : 0));
}

TEST_P(Workloads, InPages) {
    if (!job_->can_run_in_pages()) {  // it needs all points at once
        EXPECT_THROW(run(DevicePolicy::kGpu, {}, kRows), cleave::DeviceError);
        return;
    }
    constexpr std::uint64_t kMemory = kRows * 8 * 4;
    const std::ptrdiff_t on_device = run(DevicePolicy::kGpu, {}, kMemory);
    EXPECT_EQ(on_device, std::ssize(report_));
    EXPECT_GT(std::ranges::max(report_, {}, &cleave::NodeReport::pages).pages, 1);
}

// A slow device and then a fast one.
TEST_P(Workloads, WhereTheyAreFaster) {
    cleave::MachineProfile profile;
    profile.in = profile.out = profile.ordinary_in = profile.ordinary_out = {1, 1};
    options_.profile = profile;
    EXPECT_EQ(run(DevicePolicy::kAuto), 0);
    profile.in = profile.out = profile.ordinary_in = profile.ordinary_out = {1e-9, 1e-13};
    options_.profile = profile;
    EXPECT_GT(run(DevicePolicy::kAuto), 0);
}

TEST_P(Workloads, ByHand) {
    for (const bool pins_inputs : {false, true}) {
        job_->compute_by_hand(pins_inputs);
        EXPECT_TRUE(job_->is_right());
    }
}

TEST(PlainLibraries, SortPointsThatAreSeveralChunksOfWork) {
    const inputs::Points points = inputs::points(40000);
    const numbers::Grid grid = numbers::grid_of(points.x, points.y, 1);
    const numbers::GridView view = numbers::view_of(grid);
    std::vector<bool> is_there(points.x.size, false);
    for (std::uint32_t cell = 0; cell < grid.width * grid.height; ++cell) {
        for (std::uint32_t i = grid.starts.data[cell]; i < grid.starts.data[cell + 1]; ++i) {
            const std::uint32_t original = grid.order.data[i];
            ASSERT_EQ(view.cell_of(grid.x.data[i], grid.y.data[i]), cell);
            ASSERT_EQ(grid.x.data[i], points.x.data[original]);
            ASSERT_EQ(grid.y.data[i], points.y.data[original]);
            is_there[original] = true;
        }
    }
    EXPECT_EQ(std::ranges::count(is_there, false), 0);
}

INSTANTIATE_TEST_SUITE_P(All, Workloads, testing::ValuesIn(offload_bench::kWorkloads),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
