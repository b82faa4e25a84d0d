// Waits on condition variables. Locks are checked by the compiler and need no test here.
#include "base/mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <thread>

namespace cleave::mutex_test {

using namespace std::chrono_literals;

// A number that a thread waits for.
class Number {
public:
    void set(int value) {
        {
            const MutexLock lock(mutex_);
            value_ = value;
        }
        changed_.notify_all();
    }

    // Returns 0 if the thread is asked to stop.
    int wait(const std::stop_token& stop) {
        MutexLock lock(mutex_);
        while (value_ == 0 && !stop.stop_requested()) changed_.wait(lock, stop);
        return value_;
    }

    // Returns the number that was set while the thread slept.
    int sleep(std::chrono::milliseconds time, const std::stop_token& stop) {
        MutexLock lock(mutex_);
        changed_.sleep_for(lock, time, stop);
        return value_;
    }

private:
    Mutex mutex_;
    StoppableConditionVariable changed_;
    int value_ CLEAVE_GUARDED_BY(mutex_) = 0;
};

TEST(StoppableConditionVariable, AWaitEndsWithAChange) {
    Number number;
    const std::jthread other([&] { number.set(3); });
    EXPECT_EQ(number.wait({}), 3);
}

TEST(StoppableConditionVariable, AWaitEndsWhenAskedToStop) {
    Number number;
    std::stop_source stop;
    int seen = -1;
    std::jthread waiting([&] { seen = number.wait(stop.get_token()); });
    stop.request_stop();
    waiting.join();
    EXPECT_EQ(seen, 0);
    EXPECT_EQ(number.wait(stop.get_token()), 0);  // at once
}

TEST(StoppableConditionVariable, AChangeDoesNotEndASleep) {
    Number number;
    std::jthread setting([&] { number.set(5); });
    const auto begin = std::chrono::steady_clock::now();
    number.sleep(20ms, {});
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 20ms);
    setting.join();
    EXPECT_EQ(number.wait({}), 5);
}

TEST(StoppableConditionVariable, AStopEndsASleep) {
    Number number;
    std::stop_source stop;
    std::jthread sleeping([&] { number.sleep(24h, stop.get_token()); });
    stop.request_stop();
    sleeping.join();
}

}  // namespace cleave::mutex_test
