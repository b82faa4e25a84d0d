// Many threads that share a manager.
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "conformance.h"

namespace cleave::conformance {
namespace {

constexpr std::size_t kThreads = 8;

// Runs body(i) on a thread for each i. Throws the first Failure.
void run_on_threads(const std::function<void(std::size_t)>& body) {
    std::array<std::optional<Failure>, kThreads> failures;
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (std::size_t i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] {
            try {
                body(i);
            } catch (const Failure& failure) {
                failures.at(i) = failure;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& failure : failures) {
        if (failure) throw Failure(*failure);
    }
}

void check_hammer(const Options& options) {
    const Subject subject(options);
    constexpr int kRounds = kIsSanitized ? 300 : 2000;
    for (const cleave_memory_space space : subject.spaces()) {
        run_on_threads([&](std::size_t number) {
            std::mt19937_64 random(number);
            std::array<std::optional<cleave_memory>, 16> held;
            for (int round = 0; round < kRounds; ++round) {
                auto& one = held.at(random() % held.size());
                const std::uint64_t seed = number * held.size() + static_cast<std::uint64_t>(&one - held.data());
                if (one) {
                    subject.expect_filled(space, *one, seed);
                    subject.release(*one);
                    one.reset();
                    continue;
                }
                const std::size_t size = random() % (round % 32 == 0 ? 200'000 : 2000);
                const std::uint32_t flags = round % 5 == 0   ? CLEAVE_MEMORY_ZEROED
                                            : round % 7 == 0 ? CLEAVE_MEMORY_SECRET
                                                             : 0;
                one = subject.allocate({.size = size, .space = space, .flags = flags});
                if (flags == CLEAVE_MEMORY_ZEROED) subject.expect_zero(space, *one);
                subject.fill(space, *one, seed);
            }
            for (const auto& one : held) {
                if (one) subject.release(*one);
            }
        });
    }
}

// Each thread releases what the previous one allocates.
void check_hand_over(const Options& options) {
    const Subject subject(options);
    constexpr std::size_t kCount = kIsSanitized ? 100 : 500;
    struct Box {
        std::mutex mutex;
        std::condition_variable changed;
        std::deque<cleave_memory> items;
        bool is_over = false;  // another thread has failed, so nothing more will arrive
    };
    for (const cleave_memory_space space : subject.spaces()) {
        std::array<Box, kThreads> boxes;
        const auto pass_on = [&](std::size_t number) {
            Box& mine = boxes.at(number);
            Box& next = boxes.at((number + 1) % kThreads);
            for (std::size_t i = 0; i < kCount; ++i) {
                const cleave_memory made = subject.allocate({.size = i * 37 % 9000, .space = space});
                subject.fill(space, made, made.size);
                {
                    const std::scoped_lock lock(next.mutex);
                    next.items.push_back(made);
                }
                next.changed.notify_one();
                cleave_memory got{};
                {
                    std::unique_lock lock(mine.mutex);
                    mine.changed.wait(lock, [&] { return !mine.items.empty() || mine.is_over; });
                    if (mine.items.empty()) return;
                    got = mine.items.front();
                    mine.items.pop_front();
                }
                subject.expect_filled(space, got, got.size);
                subject.release(got);
            }
        };
        run_on_threads([&](std::size_t number) {
            try {
                pass_on(number);
            } catch (const Failure&) {
                for (Box& box : boxes) {
                    const std::scoped_lock lock(box.mutex);
                    box.is_over = true;
                    box.changed.notify_one();
                }
                throw;
            }
        });
    }
}

// The optional members, while other threads allocate.
void check_other_members(const Options& options) {
    const Subject subject(options);
    const cleave_memory_manager& face = subject.face();
    const cleave_memory_space space = subject.space();
    run_on_threads([&](std::size_t number) {
        for (int round = 0; round < 100; ++round) {
            std::uint64_t free_size = 0;
            std::uint64_t total_size = 0;
            if (number == 0) subject.initialize();
            if (number == 1 && face.info != nullptr) face.info(face.state, space, &free_size, &total_size);
            const bool defers = number == 2 && face.defer_cleanup_begin != nullptr;
            if (defers) expect_error(face.defer_cleanup_begin(face.state), 0, "defer_cleanup_begin");
            subject.release(subject.allocate({.size = static_cast<std::size_t>(round) * 50, .space = space}));
            if (defers) expect_error(face.defer_cleanup_end(face.state), 0, "defer_cleanup_end");
        }
    });
}

// A thread allocates and ends before its memory is used and released.
void check_ended_thread(const Options& options) {
    const Subject subject(options);
    const cleave_memory_space space = subject.space();
    std::array<std::vector<cleave_memory>, kThreads> held;
    run_on_threads([&](std::size_t number) {
        for (std::size_t size = 1; size < 300'000; size *= 3) {
            held.at(number).push_back(subject.allocate({.size = size, .space = space}));
            subject.fill(space, held.at(number).back(), number);
        }
    });
    for (std::size_t number = 0; number < kThreads; ++number) {
        for (const cleave_memory& memory : held.at(number)) {
            subject.expect_filled(space, memory, number);
            subject.release(memory);
        }
    }
}

constexpr std::array kThreadChecks{
    NamedCheck{"threads.hammer", check_hammer},
    NamedCheck{"threads.hand_over", check_hand_over},
    NamedCheck{"threads.other_members", check_other_members},
    NamedCheck{"threads.ended_thread", check_ended_thread},
};

}  // namespace

std::span<const NamedCheck> thread_checks() { return kThreadChecks; }

}  // namespace cleave::conformance
