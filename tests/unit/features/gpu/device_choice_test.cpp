// DeviceChoice: what it decides, and how it opens the device.
#include "cleave/experimental/device_choice.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <utility>

#include "simulated_device.h"

namespace cleave::device_choice_test {

constexpr std::uint64_t kGiga = 1'000'000'000;

std::shared_ptr<DeviceContext> make_context() {
    ContextOptions options;
    options.device = std::make_shared<SimulatedDevice>();
    options.policy = DevicePolicy::kGpu;
    return std::make_shared<DeviceContext>(options);
}

// Opening takes 2 s, and processing takes 3 s per gigabyte.
DeviceProspect prospect() { return {2, 3e-9, make_context}; }

TEST(DeviceChoice, ADeviceThatWasGivenIsAlwaysTaken) {
    const auto context = make_context();
    for (const double seconds_per_byte : {0.0, 1.0}) {
        DeviceChoice choice(context, seconds_per_byte);
        EXPECT_FALSE(choice.has_choice());
        EXPECT_EQ(choice.seconds_per_byte(), seconds_per_byte);
        EXPECT_TRUE(choice.is_better(kGiga, 0));
        EXPECT_TRUE(choice.is_better(0, 0, 1));
        EXPECT_EQ(choice.open(), context);
        EXPECT_EQ(choice.explain(), "");
    }
}

// Including the time to open it, the device takes 5 s for a gigabyte.
TEST(DeviceChoice, TheTimeToOpenCountsUntilTheDeviceIsOpen) {
    DeviceChoice choice(prospect());
    EXPECT_TRUE(choice.has_choice());
    EXPECT_EQ(choice.seconds_per_byte(), 3e-9);
    EXPECT_TRUE(choice.is_better(kGiga, 5 * kLeastGain * 1.001));
    EXPECT_FALSE(choice.is_better(kGiga, 5 * kLeastGain * 0.999));
    EXPECT_FALSE(choice.is_better(0, 2));
    EXPECT_TRUE(choice.open());
    EXPECT_TRUE(choice.is_better(kGiga, 3 * kLeastGain * 1.001));
    EXPECT_FALSE(choice.is_better(kGiga, 3 * kLeastGain * 0.999));
}

TEST(DeviceChoice, TheDeviceIsNotFasterThanReading) {
    const DeviceChoice choice(prospect());
    EXPECT_TRUE(choice.is_better(kGiga, 6 * kLeastGain * 1.001, 4e-9));  // 2 + 4
    EXPECT_FALSE(choice.is_better(kGiga, 6 * kLeastGain * 0.999, 4e-9));
    EXPECT_TRUE(choice.is_better(kGiga, 5 * kLeastGain * 1.001, 1e-9));  // reading is faster
}

TEST(DeviceChoice, ADeviceOfUnknownSpeedIsNotTaken) {
    for (const double unknown : {0.0, -1.0}) {
        DeviceProspect slow = prospect();
        slow.seconds_per_byte = unknown;
        slow.open_seconds = 0;
        const DeviceChoice choice(slow);
        EXPECT_FALSE(choice.is_better(kGiga, 1e9));
    }
}

TEST(DeviceChoice, OpensOnceWhoeverAsks) {
    int opened = 0;  // changed only by the thread that holds the lock
    DeviceProspect counted = prospect();
    counted.open = [&] {
        ++opened;
        return make_context();
    };
    DeviceChoice choice(counted);
    EXPECT_EQ(opened, 0);
    std::vector<std::shared_ptr<DeviceContext>> contexts(6);
    std::vector<std::jthread> threads;
    threads.reserve(contexts.size());
    for (auto& context : contexts) threads.emplace_back([&choice, &context] { context = choice.open(); });
    threads.clear();
    EXPECT_EQ(opened, 1);
    for (const auto& context : contexts) EXPECT_TRUE(context && context == contexts[0]);
}

TEST(DeviceChoice, ADeviceThatCannotBeOpenedIsTriedOnceAndRemarked) {
    int opened = 0;
    DeviceProspect failing = prospect();
    failing.open = [&]() -> std::shared_ptr<DeviceContext> {
        ++opened;
        throw DeviceUnavailable(DeviceUnavailable::Missing::kDriver, "device: no driver");
    };
    DeviceChoice choice(failing);
    EXPECT_EQ(choice.explain(), "");
    EXPECT_FALSE(choice.open());
    EXPECT_FALSE(choice.open());
    EXPECT_EQ(opened, 1);
    EXPECT_EQ(choice.explain(), "device: no driver\n");
    failing.open = []() -> std::shared_ptr<DeviceContext> { throw DeviceError(DeviceFault::kLost, "it is lost"); };
    DeviceChoice lost(failing);
    EXPECT_FALSE(lost.open());
    EXPECT_EQ(lost.explain(), "it is lost\n");
}

TEST(DeviceChoice, WhatElseIsThrownComesOut) {
    DeviceProspect failing = prospect();
    failing.open = []() -> std::shared_ptr<DeviceContext> { throw std::bad_alloc(); };
    DeviceChoice choice(failing);
    EXPECT_THROW(choice.open(), std::bad_alloc);
    EXPECT_FALSE(choice.open());
}

// The choice can be used while a body holds the context.
TEST(DeviceChoice, IsNotHeldWhileTheContextIsAsked) {
    const auto context = make_context();
    DeviceChoice choice(context);
    std::atomic<bool> is_asking = false;
    std::jthread asking;
    const auto function = annotate<std::uint64_t(std::uint64_t)>(
        "wait",
        [&](std::uint64_t x) {
            asking = std::jthread([&choice, &is_asking] {
                is_asking = true;
                is_asking.notify_one();
                choice.explain();  // waits for the context
            });
            is_asking.wait(false);
            for (int i = 0; i < 1000; ++i) choice.remark("one");
            return x;
        },
        nullptr);
    std::optional<std::uint64_t> page = 7;
    std::uint64_t result = 0;
    context->stream<std::uint64_t, std::uint64_t>(
        function, [&page] { return std::exchange(page, std::nullopt); }, [&result](std::uint64_t x) { result = x; });
    EXPECT_EQ(result, 7U);
    asking.join();
    EXPECT_NE(choice.explain().find("one\none\n"), std::string::npos);
}

TEST(DeviceChoice, RemarksComeInOrderBehindWhatWasDone) {
    DeviceChoice choice(make_context());
    choice.remark("one");
    choice.remark("two");
    EXPECT_EQ(choice.explain(), "one\ntwo\n");
}

}  // namespace cleave::device_choice_test
