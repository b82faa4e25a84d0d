// Where functions run, what is moved to and from the device, what is kept, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <utility>

#include "column.h"
#include "features/gpu/explain.h"

namespace cleave::context_test {

constexpr std::uint64_t kSize = 1000;

std::uint64_t plus_one(std::uint64_t x) { return x + 1; }

class ContextTest : public testing::Test {
protected:
    // Per byte, the link takes 1e-9 s, a body on the device next to nothing, and a body on the host 1e-9 s.
    ContextTest() {
        machine.in = machine.out = {0, 1e-9};
        machine.launch = 0;
    }

    void TearDown() override {
        context.reset();
        if (device) {
            EXPECT_EQ(device->allocations_alive(), 0);
        }
        EXPECT_EQ(count->alive.load(), 0);
    }

    Context& open(DevicePolicy policy = DevicePolicy::kAuto) {
        device = std::make_shared<SimulatedDevice>(machine);
        options.memory = make_counting_manager(count);
        options.device = device;
        options.policy = policy;
        options.profile = profile_of(machine);
        context = std::make_unique<Context>(options);
        return *context;
    }

    Column column(std::uint64_t size = kSize) { return make_column(*options.memory, Numbers(size, 5)); }
    // Functions that take `factor` times as long on the host as moving the same bytes.
    Functions functions(double factor) { return Functions(&device->virtual_clock(), {{"f", factor * 1e-9}}); }
    Side side(std::size_t node = 0) { return context->report().at(node).side; }

    SimulatedOptions machine;
    ContextOptions options;
    std::shared_ptr<HostCount> count = std::make_shared<HostCount>();
    std::shared_ptr<SimulatedDevice> device;
    std::unique_ptr<Context> context;
};

TEST_F(ContextTest, ComputesNothingBeforeItIsAsked) {
    open();
    int calls = 0;
    const auto f = annotate<int(int)>(
        "f", [&](int x) { return ++calls + x; }, nullptr);
    const Lazy<int> y = f(f(1));
    EXPECT_EQ(calls, 0);
    EXPECT_THROW(y.get(), std::logic_error);
    context->evaluate(y);
    EXPECT_EQ(y.get(), 4);
    context->evaluate(y);  // y is already there
    EXPECT_EQ(calls, 2);
}

TEST_F(ContextTest, ASlowLinkKeepsWorkOnTheHost) {
    open();
    const Lazy<Column> y = functions(1.5).unary("f", plus_one)(column());
    context->evaluate(y);
    EXPECT_EQ(side(), Side::kHost);
    EXPECT_EQ(numbers_of(y.get()), Numbers(kSize, 6));
}

TEST_F(ContextTest, HeavyWorkGoesToTheDevice) {
    open();
    const Lazy<Column> y = functions(100).unary("f", plus_one)(column());
    context->evaluate(y);
    EXPECT_EQ(side(), Side::kDevice);
    EXPECT_EQ(context->report()[0].bytes_in, kSize * 8);
    EXPECT_EQ(numbers_of(y.get()), Numbers(kSize, 6));
}

TEST_F(ContextTest, AGainOfLessThanThirtyPercentIsNotTaken) {
    open();
    // The transfers in and out cost two units; the host needs 2.5, then 2.7.
    context->evaluate(functions(2.5).unary("f", plus_one)(column()));
    EXPECT_EQ(side(), Side::kHost);
    EXPECT_NE(context->explain().find("too little to gain"), std::string::npos) << context->explain();
    open();
    context->evaluate(functions(2.7).unary("f", plus_one)(column()));
    EXPECT_EQ(side(), Side::kDevice);
}

TEST_F(ContextTest, WhatIsOnTheDeviceIsNotMovedAgain) {
    open();
    const Unary f = functions(100).unary("f", plus_one);
    const Lazy<Column> y = f(column());
    context->evaluate(y);
    // Cheap work on a value that is already there.
    const Lazy<Column> z = functions(0.5).unary("g", plus_one)(y);
    const Lazy<Column> w = f(z);
    context->evaluate(w);
    for (const NodeReport& report : context->report()) {
        EXPECT_EQ(report.side, Side::kDevice) << report.name;
        EXPECT_EQ(report.bytes_in + report.bytes_out, 0) << report.name;
    }
    EXPECT_EQ(numbers_of(w.get()), Numbers(kSize, 8));
}

TEST_F(ContextTest, ANodeWithoutDeviceBodyInTheMiddleRunsOnTheHost) {
    open(DevicePolicy::kGpu);
    const Functions f = functions(100);
    const Lazy<Column> y = f.unary("f", plus_one)(f.unary("host", plus_one, false)(f.unary("f", plus_one)(column())));
    context->evaluate(y);
    ASSERT_EQ(context->report().size(), 3);
    EXPECT_EQ(side(0), Side::kDevice);
    EXPECT_EQ(side(1), Side::kHost);
    EXPECT_EQ(side(2), Side::kDevice);
    EXPECT_EQ(context->report()[1].bytes_out, kSize * 8);
    EXPECT_EQ(context->report()[2].bytes_in, kSize * 8);
    EXPECT_EQ(numbers_of(y.get()), Numbers(kSize, 8));
}

TEST_F(ContextTest, AnAllocationHappensWhereItsFirstConsumerRuns) {
    for (const bool is_heavy : {true, false}) {
        open();
        const Functions f = functions(is_heavy ? 100 : 0.01);
        const Lazy<Column> y = f.unary("f", plus_one)(f.filled()(kSize, std::uint64_t{7}));
        context->evaluate(y);
        EXPECT_EQ(side(0), is_heavy ? Side::kDevice : Side::kHost);
        EXPECT_EQ(side(1), side(0));
        EXPECT_EQ(context->report()[1].bytes_in, 0);
        EXPECT_EQ(numbers_of(y.get()), Numbers(kSize, 8));
    }
    open(DevicePolicy::kGpu);
    const Functions f = functions(1);
    const Lazy<Column> filled = f.filled()(kSize, std::uint64_t{7});
    const Lazy<Column> host = f.unary("host", plus_one, false)(filled);
    const Lazy<Column> both = f.binary("f", [](std::uint64_t a, std::uint64_t b) { return a + b; })(host, filled);
    context->evaluate(both);
    EXPECT_EQ(side(0), Side::kHost);  // its first consumer has no device body
    EXPECT_EQ(numbers_of(both.get()), Numbers(kSize, 15));
}

TEST_F(ContextTest, ValuesAreFreedAfterTheirLastUse) {
    open(DevicePolicy::kGpu);
    const Unary f = functions(1).unary("f", plus_one);
    Lazy<Column> y = f(column());
    for (int i = 0; i < 20; ++i) y = f(y);
    context->evaluate(y);
    EXPECT_LE(device->device_bytes_peak(), 3 * kSize * 8);
    EXPECT_EQ(device->device_bytes_alive(), kSize * 8);
    EXPECT_EQ(context->device_memory_in_use(), kSize * 8);
    EXPECT_EQ(numbers_of(y.get()), Numbers(kSize, 26));
}

// Its memory is released on a stream of the context.
TEST_F(ContextTest, AValueOnTheDeviceOutlivesItsContext) {
    open(DevicePolicy::kGpu);
    const Lazy<Column> y = functions(1).unary("f", plus_one)(column());
    context->evaluate(y);
    context.reset();
    EXPECT_EQ(numbers_of(y.get()), Numbers(kSize, 6));
}

TEST_F(ContextTest, TheCpuPolicyDoesNotTouchTheDevice) {
    open(DevicePolicy::kCpu);
    const std::uint64_t calls = device->calls();
    EXPECT_EQ(numbers_of(context->get(functions(100).unary("f", plus_one)(column()))), Numbers(kSize, 6));
    EXPECT_EQ(device->calls(), calls);
}

TEST_F(ContextTest, AutoWithoutAProfileIsTheHostAndSaysSo) {
    open();
    options.profile.reset();
    context = std::make_unique<Context>(options);
    context->evaluate(functions(100).unary("f", plus_one)(column()));
    EXPECT_EQ(side(), Side::kHost);
    EXPECT_NE(context->explain().find("has not been measured"), std::string::npos) << context->explain();
}

// The link is fast only from pinned memory. These values are in ordinary memory, so they stay.
TEST_F(ContextTest, MovesArePredictedByTheMemoryTheyComeFrom) {
    machine.in = {0, 1e-12};
    machine.ordinary_in = Rate{0, 4e-9};
    machine.out = Rate{0, 3e-9};
    machine.ordinary_out = Rate{0, 1};
    open();
    const Unary f = functions(6).unary("f", plus_one);
    context->evaluate(f(column()));
    EXPECT_EQ(side(), Side::kHost);
    EXPECT_NE(context->explain().find("48.0 us on the host alone"), std::string::npos) << context->explain();
    // The data is pinned, and what comes back is always put into pinned memory.
    const double begin = device->virtual_clock().seconds();
    const Lazy<Column> y = f(make_pinned_column(*context, Numbers(kSize, 5)));
    context->evaluate(y);
    EXPECT_EQ(side(), Side::kDevice);
    EXPECT_EQ(numbers_of(y.get()), Numbers(kSize, 6));
    EXPECT_NEAR(device->virtual_clock().seconds() - begin, 3e-9 * kSize * 8, 1e-6);
    EXPECT_NEAR(*context->report()[0].predicted, 1e-12 * kSize * 8, 1e-8);
    // Heavy work justifies slow transfers.
    open();
    const Lazy<Column> z = functions(100).unary("f", plus_one)(column());
    context->evaluate(z);
    EXPECT_EQ(side(), Side::kDevice);
    EXPECT_NEAR(*context->report()[0].predicted, 4e-9 * kSize * 8, 1e-7);
    EXPECT_NEAR(context->report()[0].taken, 0, 1e-7);
    EXPECT_NEAR(device->virtual_clock().seconds(), 4e-9 * kSize * 8, 1e-7);
}

// The CPU copies pages to pinned memory before they are moved.
TEST_F(ContextTest, PagesThatAreNotPinnedAreCopiedFirst) {
    machine.in = machine.out = {0, 1e-12};
    machine.ordinary_in = machine.ordinary_out = Rate{0, 1};
    for (const double copy : {0.1e-9, 0.9e-9}) {
        for (const bool is_pinned : {false, true}) {
            open();
            options.profile->host_copy = {0, copy};
            context = std::make_unique<Context>(options);
            std::optional<Column> page = is_pinned ? make_pinned_column(*context, Numbers(kSize, 5)) : column();
            const std::function<std::optional<Column>()> next = [&] { return std::exchange(page, std::nullopt); };
            Numbers numbers;
            const std::function<void(const Column&)> sink = [&](const Column& made) { numbers = numbers_of(made); };
            context->stream(functions(1).unary("f", plus_one), next, sink);
            EXPECT_EQ(side(), is_pinned || copy < 0.5e-9 ? Side::kDevice : Side::kHost) << copy << is_pinned;
            EXPECT_EQ(numbers, Numbers(kSize, 6));
        }
    }
}

// If the speed of a function's body is unknown, the function stays on the host, where its host body is measured.
TEST_F(ContextTest, AFunctionOfUnknownCostStaysOnTheHost) {
    open();
    const auto spend = [this](MemoryManager& memory, const Column& x) {
        device->virtual_clock().advance(1);
        Numbers numbers = numbers_of(x);
        for (std::uint64_t& number : numbers) ++number;
        return make_column(memory, numbers);
    };
    const auto on_device = [](DeviceStream& stream, const Column& x) {
        const Column made = make_device_column(stream, x.size());
        stream.run({"f", x.bytes()},
                   [=](void*) { std::ranges::transform(std::span(x.numbers(), x.size()), made.numbers(), plus_one); });
        return made;
    };
    const auto made = [&](const Cost& cost) { return annotate<Column(Column)>("f", spend, on_device, cost); };
    const auto place = [&](const Cost& cost) {
        const Lazy<Column> y = made(cost)(column());
        context->evaluate(y);
        EXPECT_EQ(numbers_of(y.get()), Numbers(kSize, 6));
        return side();
    };
    EXPECT_EQ(place({}), Side::kHost);
    EXPECT_EQ(place({}), Side::kHost);  // the host is known to be slow, the device is unknown
    EXPECT_FALSE(context->profile()->functions.at("f").device);
    open();
    EXPECT_EQ(place({.device = Rate{0, 1e-12}}), Side::kHost);    // the device is known, the host is not
    EXPECT_EQ(place({.device = Rate{0, 1e-12}}), Side::kDevice);  // now both are
    open();
    EXPECT_EQ(place({.host = Rate{0, 1}}), Side::kHost);
    // A function of unknown cost between two that would run on the device: either their shared values are moved, or
    // they run on the host as well.
    open();
    const Unary heavy = functions(100).unary("heavy", plus_one);
    const Lazy<Column> y = heavy(made({})(heavy(column())));
    context->evaluate(y);
    EXPECT_EQ(side(1), Side::kHost);
    EXPECT_EQ(numbers_of(y.get()), Numbers(kSize, 8));
}

TEST_F(ContextTest, RatesAreLearntFromWhatWasMeasured) {
    open();
    // The annotator promised a fast device, but it takes twenty times as long as the host.
    machine.bodies["f"] = {0, 100e-9};
    open();
    const Unary f = Functions(&device->virtual_clock(), {{"f", 5e-9}}, {{"f", 1e-12}}).unary("f", plus_one);
    for (int run = 0; run < 2; ++run) {  // the first does not count
        context->evaluate(f(column()));
        EXPECT_EQ(side(), Side::kDevice);
    }
    context->evaluate(f(column()));
    EXPECT_EQ(side(), Side::kHost);
    const auto profile = context->profile();
    ASSERT_TRUE(profile && profile->functions.at("f").device && profile->functions.at("f").host);
    EXPECT_NEAR(profile->functions.at("f").device->per_byte, 100e-9, 1e-12);
    EXPECT_NEAR(profile->functions.at("f").host->per_byte, 5e-9, 1e-12);
}

TEST_F(ContextTest, PredictsWhatTheDeviceTakes) {
    machine.bodies["f"] = {2e-6, 3e-9};
    machine.launch = 1e-6;
    open();
    options.profile->functions["f"] = {Rate{0, 1e-6}, Rate{2e-6, 3e-9}};
    context = std::make_unique<Context>(options);
    context->evaluate(functions(100).unary("f", plus_one)(column()));
    const NodeReport report = context->report().at(0);
    ASSERT_EQ(report.side, Side::kDevice);
    EXPECT_NEAR(*report.predicted, 1e-6 + 2e-6 + 4e-9 * kSize * 8, 1e-12);
    EXPECT_NEAR(report.taken, 1e-6 + 2e-6 + 3e-9 * kSize * 8, 1e-12);
    EXPECT_EQ(context->explain(),
              "predicted: 8.00 ms on the host alone, 43.0 us at best\n"
              "f: device, predicted 35.0 us, took 27.0 us, 7.81 KiB in\n");
}

TEST_F(ContextTest, AnExceptionOfABodyComesOutAndLeavesNothing) {
    for (const DevicePolicy policy : {DevicePolicy::kCpu, DevicePolicy::kGpu}) {
        open(policy);
        bool throws = true;
        const auto fail = [&throws](const Column& x) {
            if (throws) throw std::range_error("no");
            return x;
        };
        const auto on_device = [&throws](DeviceStream& stream, const Column& x) {
            stream.run({"fail", 0}, [&throws](void*) {
                if (throws) throw std::range_error("no");
            });
            return x;
        };
        const auto failing = annotate<Column(Column)>("fail", fail, on_device);
        const Functions f = functions(1);
        {
            const Lazy<Column> x = f.unary("f", plus_one)(column());
            const Lazy<Column> y = f.unary("f", plus_one)(failing(x));
            const auto held = count->alive.load();
            EXPECT_THROW(context->evaluate(x, y), std::range_error);
            EXPECT_EQ(count->alive.load(), held);
            EXPECT_EQ(device->device_bytes_alive(), 0);
            throws = false;
            context->evaluate(x, y);
            EXPECT_EQ(numbers_of(y.get()), Numbers(kSize, 7));
        }
    }
}

TEST_F(ContextTest, RefusesWhatItCannotDo) {
    open();
    options.device.reset();
    options.policy = DevicePolicy::kGpu;
    EXPECT_THROW(Context{options}, std::invalid_argument);
    const Lazy<Column> y = functions(1).unary("f", plus_one)(column());
    context->evaluate(y);
    Context other(ContextOptions{});
    EXPECT_THROW(other.evaluate(y), std::invalid_argument);
    const auto nested = annotate<int(int)>(
        "nested",
        [&](int x) {
            return context->get(annotate<int(int)>(
                "inner", [](int z) { return z; }, nullptr)(x));
        },
        nullptr);
    EXPECT_THROW(context->evaluate(nested(1)), std::logic_error);
}

TEST_F(ContextTest, ThreadsMayShareAContext) {
    open(DevicePolicy::kGpu);
    const Unary f = Functions(nullptr).unary("f", plus_one);
    const Lazy<Column> shared = column();
    std::vector<std::thread> threads;
    threads.reserve(4);
    std::atomic<int> right{0};
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int k = 0; k < 10; ++k) {
                const Lazy<Column> y = f(f(shared));
                context->evaluate(y);
                if (numbers_of(y.get()) == Numbers(kSize, 7)) ++right;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(right.load(), 40);
}

TEST_F(ContextTest, AVeryDeepGraphNeedsNoStack) {
    open();
    const auto next = annotate<int(int)>(
        "next", [](int x) { return x + 1; }, nullptr);
    Lazy<int> y = 0;
    for (int i = 0; i < 50000; ++i) y = next(y);
    const Lazy<int> dropped = next(y);
    EXPECT_EQ(context->get(y), 50000);
}

TEST(Texts, OfNumbersHaveThreeDigits) {
    EXPECT_EQ(offload::text_of_seconds(0), "0.00 us");
    EXPECT_EQ(offload::text_of_seconds(0.04e-6), "0.04 us");
    EXPECT_EQ(offload::text_of_seconds(1.25e-3), "1.25 ms");
    EXPECT_EQ(offload::text_of_seconds(9.999), "10.00 s");
    EXPECT_EQ(offload::text_of_seconds(12.34), "12.3 s");
    EXPECT_EQ(offload::text_of_seconds(123.6), "124 s");
    EXPECT_EQ(offload::text_of_bytes(1023), "1023 B");
    EXPECT_EQ(offload::text_of_bytes(std::uint64_t{7} << 19), "3.50 MiB");
}

}  // namespace cleave::context_test
