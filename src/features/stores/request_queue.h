// Makes many requests at a time, each on a thread of its own, which waits for the answer.
//
// Whoever adds a request with many bytes waits while too many bytes are in memory; requests without bytes are only
// noted. After the first failure nothing more begins, and everybody who adds or waits gets that failure.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace cleave {

// Thread-safe.
class RequestQueue {
public:
    static constexpr unsigned kThreads = 16;
    static constexpr std::uint64_t kMostBytes = std::uint64_t{128} << 20;  // in memory, waiting or being sent

    using Request = std::function<void()>;

    // `failed` is called once, after the first failure, from any thread. It must not throw.
    explicit RequestQueue(std::function<void()> failed, unsigned threads = kThreads, std::uint64_t most = kMostBytes);
    RequestQueue(const RequestQueue&) = delete;
    RequestQueue& operator=(const RequestQueue&) = delete;
    // Waits for the requests that have begun, and drops the others.
    ~RequestQueue();

    // Adds a request that keeps `bytes` bytes in memory. Waits until there is room for them; if there are more than fit
    // at all, until nothing else is in memory. Throws std::system_error if not even one thread can be started; with
    // fewer threads than it may have, the queue is only slower.
    void add(std::uint64_t bytes, Request request);

    // Waits until all requests are done.
    void wait();

    // Drops what has not begun, and waits for the rest. Forgets the failure: the queue can be used again.
    void clear() noexcept;

    // Throws the first failure, if there is one.
    void throw_failure();

private:
    struct Item {
        std::uint64_t bytes;
        Request request;
    };

    void start_thread() CLEAVE_REQUIRES(mutex_);
    void work();
    void keep(const std::exception_ptr& failure) noexcept CLEAVE_EXCLUDES(mutex_);
    void throw_kept() const CLEAVE_REQUIRES(mutex_);

    const std::function<void()> failed_;
    const unsigned most_threads_;
    const std::uint64_t most_bytes_;
    Mutex mutex_;
    ConditionVariable changed_;
    std::deque<Item> waiting_ CLEAVE_GUARDED_BY(mutex_);
    std::uint64_t bytes_ CLEAVE_GUARDED_BY(mutex_) = 0;
    unsigned running_ CLEAVE_GUARDED_BY(mutex_) = 0;
    std::exception_ptr failure_ CLEAVE_GUARDED_BY(mutex_);
    bool is_closing_ CLEAVE_GUARDED_BY(mutex_) = false;
    std::vector<std::jthread> threads_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave
