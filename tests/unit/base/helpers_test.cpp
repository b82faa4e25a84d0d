// Helpers: how many run at once, and what happens to a task that none of them can take.
#include "base/helpers.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <latch>

namespace cleave::helpers_test {

TEST(Helpers, NoneRunsBesideAsManyWorkers) {
    Helpers helpers(2);
    const Helpers::Worker one(helpers);
    {
        const Helpers::Worker two(helpers);
        EXPECT_FALSE(helpers.has_room());
        EXPECT_FALSE(helpers.try_run([] { FAIL(); }));
    }
    std::latch done(1);
    EXPECT_TRUE(helpers.has_room());
    EXPECT_TRUE(helpers.try_run([&] { done.count_down(); }));
    done.wait();
}

TEST(Helpers, OneThreadHasNone) {
    Helpers helpers(1);
    const Helpers::Worker worker(helpers);
    EXPECT_FALSE(helpers.try_run([] { FAIL(); }));
}

TEST(Helpers, AsManyAsThereIsRoomForRunAtATime) {
    Helpers helpers(4);
    const Helpers::Worker worker(helpers);
    std::latch begun(3);
    std::latch may_end(1);
    std::atomic<unsigned> ended = 0;
    const auto task = [&] {
        begun.count_down();
        may_end.wait();
        ++ended;
    };
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(helpers.try_run(task));
    begun.wait();  // all of them, at the same time
    EXPECT_FALSE(helpers.try_run(task));
    may_end.count_down();
    while (!helpers.has_room()) ::usleep(100);
    std::latch again(1);
    EXPECT_TRUE(helpers.try_run([&] { again.count_down(); }));
    again.wait();
    while (ended < 3) ::usleep(100);
}

TEST(Helpers, WhatRunsIsWaitedForAtTheEnd) {
    std::atomic<unsigned> ended = 0;
    {
        Helpers helpers(3);
        for (int i = 0; i < 3; ++i) {
            EXPECT_TRUE(helpers.try_run([&] {
                ::usleep(1000);
                ++ended;
            }));
        }
    }
    EXPECT_EQ(ended, 3U);
}

}  // namespace cleave::helpers_test
