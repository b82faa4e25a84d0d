// Threads that take tasks off working threads while cores are free.
//
// If a task would have to wait for a helper, the thread that has the task had better run it itself. Nothing is
// therefore queued: try_run() either finds a helper at once or refuses. Workers are counted, too, so if there are as
// many workers as cores, no helper runs alongside them.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace cleave {

// Any number of threads may use it at once.
class Helpers {
public:
    // At most `threads` threads, workers and helpers together, work at once. A thread is started only when a task needs
    // it.
    explicit Helpers(unsigned threads) : threads_(threads) {}
    Helpers(const Helpers&) = delete;
    Helpers& operator=(const Helpers&) = delete;
    // Waits for the running tasks.
    ~Helpers();

    unsigned threads() const noexcept { return threads_; }

    // Counts a thread as a worker. If it joins while helpers are running, there may be too many threads until a task
    // ends.
    class Worker {
    public:
        explicit Worker(Helpers& helpers);
        Worker(const Worker&) = delete;
        Worker& operator=(const Worker&) = delete;
        ~Worker();

    private:
        Helpers& helpers_;
    };

    // Whether a helper may run now. A different worker may take the helper first.
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
