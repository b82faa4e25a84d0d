// A lock for an object that one thread uses at a time, in one process.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "cleave/error.h"

namespace cleave::python {

// Like a mutex, but lock() throws ArgumentError where a mutex would wait for ever: if this thread has the lock already,
// and if a thread of the parent process had it when this process was forked, as that thread does not exist here.
class UseLock {
public:
    void lock() {
        const std::uint64_t own = this_thread();
        std::uint64_t user = 0;
        while (!user_.compare_exchange_weak(user, own, std::memory_order_acquire)) {
            if (user == own) throw ArgumentError("the file is in use, by the call that led to this one");
            if (user != 0 && (user >> kHalf) != (own >> kHalf)) {
                throw ArgumentError("another thread used the file when this process was forked; open it again here");
            }
            if (user != 0) user_.wait(user, std::memory_order_relaxed);
            user = 0;
        }
    }
    void unlock() noexcept {
        user_.store(0, std::memory_order_release);
        user_.notify_one();
    }

private:
    static constexpr unsigned kHalf = 32;

    // The process, and a number that only this thread has in it, from 1.
    static std::uint64_t this_thread() noexcept {
        static std::atomic<std::uint32_t> threads{0};
        thread_local const std::uint32_t number = ++threads;
        return (static_cast<std::uint64_t>(::getpid()) << kHalf) | number;
    }

    std::atomic<std::uint64_t> user_{0};  // 0: nobody
};

}  // namespace cleave::python
