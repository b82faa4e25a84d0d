// A request to stop early, made from a signal handler or another thread.
#pragma once

#include <atomic>

namespace cleave {

// Long operations look at it between blocks and throw Cancelled; waiting for input ends at once.
class Cancellation {
public:
    // Throws std::system_error if the system has no descriptor left.
    Cancellation();
    ~Cancellation();
    Cancellation(const Cancellation&) = delete;
    Cancellation& operator=(const Cancellation&) = delete;

    // Async-signal-safe, idempotent.
    void request() noexcept;
    bool requested() const noexcept { return requested_.load(std::memory_order_relaxed); }
    void throw_if_requested() const;

    // Becomes readable when a request is made; for poll.
    int descriptor() const noexcept { return descriptor_; }

private:
    std::atomic<bool> requested_{false};
    int descriptor_;
};

}  // namespace cleave
