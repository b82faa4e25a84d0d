// A request to stop early, made from a signal handler or another thread.
#pragma once

#include <atomic>

namespace cleave {

// Long operations check it between blocks and throw Cancelled. A wait for input ends at once.
class Cancellation {
public:
    // If `outer` is not null, a request for `outer` requests this one too, but not the other way round. `outer` must
    // outlive this one, and its own outer() must be null.
    explicit Cancellation(const Cancellation* outer = nullptr) noexcept : outer_(outer) {}
    ~Cancellation();
    Cancellation(const Cancellation&) = delete;
    Cancellation& operator=(const Cancellation&) = delete;

    // Async-signal-safe, idempotent.
    void request() noexcept;
    bool requested() const noexcept {
        return requested_.load(std::memory_order_relaxed) || (outer_ != nullptr && outer_->requested());
    }
    void throw_if_requested() const;

    // An eventfd, for poll. It becomes readable when this one is requested. It is made by the first call, so what never
    // waits needs no descriptor; throws std::system_error if none is left. Any thread. A process that inherited the
    // descriptor may write to it: that ends waits too, but requested() does not change.
    int descriptor() const;
    const Cancellation* outer() const noexcept { return outer_; }

private:
    static void signal(int descriptor) noexcept;

    std::atomic<bool> requested_{false};
    mutable std::atomic<int> descriptor_{-1};  // none yet
    const Cancellation* outer_;
};

}  // namespace cleave
