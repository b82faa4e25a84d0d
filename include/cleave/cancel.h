// A request to stop early, made from a signal handler or another thread.
#pragma once

#include <atomic>

namespace cleave {

// Long operations check it between blocks and throw Cancelled. A wait for input ends at once.
class Cancellation {
public:
    // If `outer` is not null, a request for `outer` requests this one too, but not the other way round. `outer` must
    // outlive this one, and its own outer() must be null. Throws std::system_error if no descriptor is left.
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

    // An eventfd, for poll. It becomes readable when this one is requested. A process that inherited the descriptor may
    // write to it: that ends waits too, but requested() does not change.
    int descriptor() const noexcept { return descriptor_; }
    const Cancellation* outer() const noexcept { return outer_; }

private:
    std::atomic<bool> requested_{false};
    int descriptor_;
    const Cancellation* outer_;
};

}  // namespace cleave
