// Calls a function once for each number in a range, on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace cleave {

// Holds the first exception thrown on any thread.
class FirstException {
public:
    // Keeps the exception that is being handled, unless one is already held.
    void keep() noexcept {
        const MutexLock lock(mutex_);
        if (!first_) first_ = std::current_exception();
    }
    void rethrow() {
        const MutexLock lock(mutex_);
        if (first_) std::rethrow_exception(first_);
    }

private:
    Mutex mutex_;
    std::exception_ptr first_ CLEAVE_GUARDED_BY(mutex_);
};

// Calls work(i) once for every i in [0, count), starting in ascending order, on at most `threads` threads including
// this one. Returns when all calls are done. If a thread cannot be started, the other threads do its share. Each thread
// has its own copy of `work`, which may keep state between calls. Once a call has thrown, no more calls start, and the
// exception is rethrown.
template <class Work>
void parallel_for(std::size_t count, unsigned threads, const Work& work) {
    std::atomic<std::size_t> next{0};
    FirstException failure;
    const auto run = [&] {
        try {
            Work own = work;
            for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) own(i);
        } catch (...) {  // passed on to the calling thread
            next.store(count);
            failure.keep();
        }
    };
    {
        std::vector<std::jthread> helpers;
        helpers.reserve(std::min<std::size_t>(threads, count));
        try {
            for (std::size_t i = 1; i < std::min<std::size_t>(threads, count); ++i) helpers.emplace_back(run);
        } catch (const std::system_error&) {  // reaching a limit on address space or threads is not a failure
        } catch (const std::bad_alloc&) {     // nor is a lack of memory for another thread
        }
        run();
    }
    failure.rethrow();
}

}  // namespace cleave
