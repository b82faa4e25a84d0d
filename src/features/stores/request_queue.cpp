#include "features/stores/request_queue.h"

#include <system_error>
#include <utility>

namespace cleave {

RequestQueue::RequestQueue(std::function<void()> failed, unsigned threads, std::uint64_t most)
    : failed_(std::move(failed)), most_threads_(threads), most_bytes_(most) {}

RequestQueue::~RequestQueue() {
    clear();
    std::vector<std::jthread> threads;
    {
        const MutexLock lock(mutex_);
        is_closing_ = true;
        threads.swap(threads_);
    }
    changed_.notify_all();
}

void RequestQueue::throw_kept() const {
    if (failure_) std::rethrow_exception(failure_);
}

void RequestQueue::throw_failure() {
    const MutexLock lock(mutex_);
    throw_kept();
}

void RequestQueue::add(std::uint64_t bytes, Request request) {
    MutexLock lock(mutex_);
    while (!failure_ && bytes > 0 && bytes_ > 0 && bytes_ + bytes > most_bytes_) changed_.wait(lock);
    throw_kept();
    if (threads_.size() < most_threads_ && waiting_.size() + running_ >= threads_.size()) start_thread();
    waiting_.push_back({bytes, std::move(request)});
    bytes_ += bytes;
    lock.unlock();
    changed_.notify_all();
}

// If the system has no more threads, those that run make all requests.
void RequestQueue::start_thread() {
    try {
        threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
        if (threads_.empty()) throw;
    }
}

void RequestQueue::wait() {
    MutexLock lock(mutex_);
    while (running_ > 0 || (!failure_ && !waiting_.empty())) changed_.wait(lock);
    throw_kept();
}

void RequestQueue::clear() noexcept {
    std::deque<Item> dropped;
    MutexLock lock(mutex_);
    dropped.swap(waiting_);
    while (running_ > 0) changed_.wait(lock);
    bytes_ = 0;
    failure_ = nullptr;
}

void RequestQueue::keep(const std::exception_ptr& failure) noexcept {
    {
        const MutexLock lock(mutex_);
        if (failure_) return;
        failure_ = failure;
    }
    failed_();
}

void RequestQueue::work() {
    MutexLock lock(mutex_);
    while (true) {
        while (!is_closing_ && (failure_ || waiting_.empty())) changed_.wait(lock);
        if (is_closing_) return;
        Item item = std::move(waiting_.front());
        waiting_.pop_front();
        ++running_;
        lock.unlock();
        try {
            item.request();
        } catch (...) {
            keep(std::current_exception());
        }
        item.request = nullptr;  // frees its bytes
        lock.lock();
        --running_;
        bytes_ -= item.bytes;
        changed_.notify_all();
    }
}

}  // namespace cleave
