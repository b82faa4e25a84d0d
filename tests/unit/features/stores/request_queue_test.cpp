#include "features/stores/request_queue.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace cleave::request_queue_test {

using namespace std::chrono_literals;

constexpr auto kNothing = [] {};

TEST(RequestQueue, MakesAllRequests) {
    std::atomic<int> done = 0;
    RequestQueue queue(kNothing);
    for (int i = 0; i < 1000; ++i) queue.add(1, [&] { ++done; });
    queue.wait();
    EXPECT_EQ(done, 1000);
    queue.add(0, [&] { ++done; });
    queue.wait();
    EXPECT_EQ(done, 1001);
}

TEST(RequestQueue, MakesAsManyAtOnceAsItMay) {
    std::atomic<unsigned> running = 0;
    std::atomic<unsigned> most = 0;
    std::latch begun(3);
    RequestQueue queue(kNothing, 3);
    for (int i = 0; i < 30; ++i) {
        queue.add(0, [&, i] {
            const unsigned now = ++running;
            for (unsigned before = most; before < now && !most.compare_exchange_weak(before, now);) {
            }
            if (i < 3) begun.arrive_and_wait();
            std::this_thread::sleep_for(2ms);  // one too many would have time to begin
            --running;
        });
    }
    queue.wait();
    EXPECT_EQ(most, 3U);
}

TEST(RequestQueue, LimitsBytesInMemory) {
    std::atomic<std::uint64_t> bytes = 0;
    std::atomic<std::uint64_t> most = 0;
    std::latch begun(2);
    RequestQueue queue(kNothing, 8, 100);
    const auto add = [&](std::uint64_t size, bool is_of_two = false) {
        queue.add(size, [&, size, is_of_two] {
            const std::uint64_t now = bytes += size;
            for (std::uint64_t before = most; before < now && !most.compare_exchange_weak(before, now);) {
            }
            if (is_of_two) begun.arrive_and_wait();
            std::this_thread::sleep_for(1ms);  // one too many would have time to begin
            bytes -= size;
        });
    };
    for (int i = 0; i < 50; ++i) add(40, i < 2);
    queue.wait();
    EXPECT_EQ(most, 80U);
    add(1000);  // more than fits waits until nothing else is there, and is alone
    add(1);
    queue.wait();
    EXPECT_EQ(most, 1000U);
}

TEST(RequestQueue, EndsWithTheFirstFailure) {
    std::atomic<int> failed = 0;
    std::atomic<int> done = 0;
    RequestQueue queue([&] { ++failed; }, 1);
    queue.add(0, [] { throw std::runtime_error("first"); });
    const auto add_many = [&] {
        for (int i = 0; i < 100000; ++i) {
            queue.add(1, [&] {
                ++done;
                throw std::runtime_error("second");
            });
        }
        queue.wait();
    };
    EXPECT_THROW(
        {
            try {
                add_many();
            } catch (const std::runtime_error& error) {
                EXPECT_STREQ(error.what(), "first");
                throw;
            }
        },
        std::runtime_error);
    EXPECT_THROW(queue.wait(), std::runtime_error);
    EXPECT_THROW(queue.throw_failure(), std::runtime_error);
    EXPECT_EQ(failed, 1);
    EXPECT_EQ(done, 0);
    queue.clear();
    EXPECT_NO_THROW(queue.throw_failure());
    queue.add(0, [&] { ++done; });
    queue.wait();
    EXPECT_EQ(done, 1);
}

// From now on, this process can start no thread. Root may exceed the limit.
void forbid_threads() {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_NPROC, &none);
    if (::geteuid() == 0 && ::setresuid(65534, 65534, 65534) != 0) ::_exit(3);
}

TEST(RequestQueue, GoesOnWithTheThreadsThatRun) {
    const auto work = [] {
        std::atomic<int> done = 0;
        std::atomic<bool> may_end = false;
        RequestQueue queue(kNothing);
        queue.add(0, [&] {
            may_end.wait(false);
            ++done;
        });
        forbid_threads();
        try {
            for (int i = 0; i < 100; ++i) queue.add(1, [&] { ++done; });
        } catch (const std::system_error&) {
            ::_exit(1);
        }
        may_end = true;
        may_end.notify_all();
        queue.wait();
        ::_exit(done == 101 ? 0 : 2);
    };
    EXPECT_EXIT(work(), testing::ExitedWithCode(0), "");
}

TEST(RequestQueue, FailsWithoutAnyThread) {
    const auto work = [] {
        RequestQueue queue(kNothing);
        forbid_threads();
        for (int i = 0; i < 2; ++i) {
            try {
                queue.add(1, [] { ::_exit(1); });
                ::_exit(2);
            } catch (const std::system_error&) {  // nothing is left of the request
            }
        }
        queue.wait();
        ::_exit(0);
    };
    EXPECT_EXIT(work(), testing::ExitedWithCode(0), "");
}

TEST(RequestQueue, DropsWhatHasNotBegun) {
    std::atomic<int> done = 0;
    std::atomic<bool> may_end = false;
    {
        RequestQueue queue(kNothing, 1);
        queue.add(0, [&] {
            may_end.wait(false);
            ++done;
        });
        for (int i = 0; i < 100; ++i) queue.add(0, [&] { ++done; });
        may_end = true;
        may_end.notify_all();
        queue.clear();
    }
    EXPECT_GE(done, 0);
    EXPECT_LE(done, 101);
}

}  // namespace cleave::request_queue_test
