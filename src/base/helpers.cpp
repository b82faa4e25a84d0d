#include "base/helpers.h"

#include <new>
#include <system_error>
#include <utility>

namespace cleave {

Helpers::~Helpers() {
    {
        const MutexLock lock(mutex_);
        is_ended_ = true;
    }
    changed_.notify_all();
    for (std::jthread& helper : helpers_) helper.join();
}

Helpers::Worker::Worker(Helpers& helpers) : helpers_(helpers) {
    const MutexLock lock(helpers_.mutex_);
    ++helpers_.workers_;
}

Helpers::Worker::~Worker() {
    const MutexLock lock(helpers_.mutex_);
    --helpers_.workers_;
}

bool Helpers::try_run(std::function<void()> task) {
    const MutexLock lock(mutex_);
    if (workers_ + busy_ >= threads_) return false;
    try {
        tasks_.reserve(busy_ + 1);
        if (busy_ == helpers_.size()) helpers_.emplace_back([this] { work(); });  // none is idle
    } catch (const std::system_error&) {  // reaching a limit on threads or address space is not a failure
        return false;
    } catch (const std::bad_alloc&) {  // nor is a lack of memory for another thread
        return false;
    }
    tasks_.push_back(std::move(task));
    ++busy_;
    changed_.notify_one();
    return true;
}

void Helpers::work() {
    MutexLock lock(mutex_);
    for (;;) {
        while (tasks_.empty() && !is_ended_) changed_.wait(lock);
        if (tasks_.empty()) return;
        {
            const std::function<void()> task = std::move(tasks_.back());
            tasks_.pop_back();
            lock.unlock();
            task();
        }
        lock.lock();
        --busy_;
    }
}

}  // namespace cleave
