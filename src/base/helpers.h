// Threads that take tasks over from busy threads while cores are free.
//
// A thread should run a task itself rather than wait for a helper, so nothing is queued: try_run() either finds a
// helper at once or refuses. Workers count towards the limit too: if there are as many workers as cores, no helper runs
// alongside them.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace cleave {

// Thread-safe.
class Helpers {
public:
    // At most `threads` threads, workers and helpers together, work at once. Helpers are started only when needed.
    explicit Helpers(unsigned threads) : threads_(threads) {}
    Helpers(const Helpers&) = delete;
    Helpers& operator=(const Helpers&) = delete;
    // Waits for the running tasks to end.
    ~Helpers();

    unsigned threads() const noexcept { return threads_; }

    // Counts a thread as a worker while this object exists. If the thread joins while helpers are running, there may be
    // too many threads until a task ends.
    class Worker {
    public:
        explicit Worker(Helpers& helpers);
        Worker(const Worker&) = delete;
        Worker& operator=(const Worker&) = delete;
        ~Worker();

    private:
        Helpers& helpers_;
    };

    // Whether a helper is free now. Another worker may take it before try_run() is called.
    bool has_room() {
        const MutexLock lock(mutex_);
        return workers_ + busy_ < threads_;
    }

    // Runs the task on another thread. Returns false if enough threads are already working, a thread cannot be started,
    // or memory runs out. The task must not throw.
    bool try_run(std::function<void()> task);

private:
    void work();

    const unsigned threads_;
    Mutex mutex_;
    ConditionVariable changed_;
    unsigned workers_ CLEAVE_GUARDED_BY(mutex_) = 0;
    // Helpers that are running a task or have one waiting for them in tasks_.
    unsigned busy_ CLEAVE_GUARDED_BY(mutex_) = 0;
    std::vector<std::function<void()>> tasks_ CLEAVE_GUARDED_BY(mutex_);  // each for an idle helper
    bool is_ended_ CLEAVE_GUARDED_BY(mutex_) = false;
    std::vector<std::jthread> helpers_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave
