// Calls a function once for each number of a range, on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace cleave {

// Calls work(i) once for every i in [0, count), in ascending order of start, on at most `threads` threads, this one
// among them; returns when all are done. Where the system refuses a thread, the others do its share. Each thread has a
// copy of `work`, which may keep something from call to call. When a call has thrown, no further call starts, and the
// exception is rethrown.
template <class Work>
void parallel_for(std::size_t count, unsigned threads, const Work& work) {
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::exception_ptr failure;
    const auto run = [&] {
        try {
            Work own = work;
            for (std::size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) own(i);
        } catch (...) {  // carried to the calling thread
            next.store(count);
            const std::scoped_lock lock(mutex);
            if (!failure) failure = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> helpers;
        helpers.reserve(std::min<std::size_t>(threads, count));
        try {
            for (std::size_t i = 1; i < std::min<std::size_t>(threads, count); ++i) helpers.emplace_back(run);
        } catch (const std::system_error&) {  // a limit on address space or threads is no reason to fail
        } catch (const std::bad_alloc&) {     // nor is too little memory for one more
        }
        run();
    }
    if (failure) std::rethrow_exception(failure);
}

}  // namespace cleave
