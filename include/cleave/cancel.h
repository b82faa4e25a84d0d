// A request to stop early, made from a signal handler or another thread.
#pragma once

#include <atomic>

namespace cleave {

// Long operations look at it between blocks and throw Cancelled; waiting for input ends at once.
class Cancellation {
public:
    // A request for `outer`, if there is one, counts as a request for this one too, but not the other way round.
    // `outer` must outlive this one and have no outer one itself. Throws std::system_error if the system has no
    // descriptor left.
    explicit Cancellation(const Cancellation* outer = nullptr);
    ~Cancellation();
    Cancellation(const Cancellation&) = delete;
    Cancellation& operator=(const Cancellation&) = delete;

    // Async-signal-safe, idempotent.
    void request() noexcept;
    bool requested() const noexcept {
        return requested_.load(std::memory_order_relaxed) || (outer_ != nullptr && outer_->requested());
    }
    void throw_if_requested() const;

    // An eventfd that becomes readable when a request is made for this one; for poll. A process that has inherited it
    // may write to it: waits end then too, but requested() does not change.
    int descriptor() const noexcept { return descriptor_; }
    const Cancellation* outer() const noexcept { return outer_; }

private:
    std::atomic<bool> requested_{false};
    int descriptor_;
    const Cancellation* outer_;
};

}  // namespace cleave
