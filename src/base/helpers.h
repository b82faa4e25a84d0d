// Threads that take tasks from working threads, as long as there are cores for them.
//
// A task that must wait for a thread is better done by the one that has it. So nothing is queued: try_run() either
// finds a helper at once or refuses. A worker counts itself, so that with as many workers as cores no helper runs
// beside them.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace cleave {

// For any number of threads at a time.
class Helpers {
public:
    // At most `threads` threads work at a time, workers and helpers together. No thread is started before a task needs
    // it.
    explicit Helpers(unsigned threads) : threads_(threads) {}
    Helpers(const Helpers&) = delete;
    Helpers& operator=(const Helpers&) = delete;
    // Waits for the tasks that run.
    ~Helpers();

    unsigned threads() const noexcept { return threads_; }

    // Counts a thread as a worker. One that comes while helpers run makes the number too large until a task ends.
    class Worker {
    public:
        explicit Worker(Helpers& helpers);
        Worker(const Worker&) = delete;
        Worker& operator=(const Worker&) = delete;
        ~Worker();

    private:
        Helpers& helpers_;
    };

    // Whether a helper may run now. Another worker may be faster to take it.
    bool has_room() {
        const MutexLock lock(mutex_);
        return workers_ + busy_ < threads_;
    }

    // Runs the task on another thread, or returns false if enough threads work, the system refuses one or memory lacks.
    // The task must not throw.
    bool try_run(std::function<void()> task);

private:
    void work();

    const unsigned threads_;
    Mutex mutex_;
    ConditionVariable changed_;
    unsigned workers_ CLEAVE_GUARDED_BY(mutex_) = 0;
    // Helpers that have a task, or for which one waits in tasks_.
    unsigned busy_ CLEAVE_GUARDED_BY(mutex_) = 0;
    std::vector<std::function<void()>> tasks_ CLEAVE_GUARDED_BY(mutex_);  // each for a helper that is idle
    bool is_ended_ CLEAVE_GUARDED_BY(mutex_) = false;
    std::vector<std::jthread> helpers_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave
