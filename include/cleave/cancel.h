// A request to stop early, which a signal handler or another thread can make.
#pragma once

#include <atomic>

namespace cleave {

// Long operations check it between blocks and throw Cancelled. A request also ends any wait for input at once.
class Cancellation {
public:
    // If `outer` is not null, requesting `outer` requests this one too, but not vice versa. `outer` must outlive this
    // one, and its own outer() must be null.
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

    // An eventfd for poll(), which becomes readable when this cancellation is requested. The first call creates it, so
    // a program that never waits needs no descriptor. Throws SystemError if the process has no descriptors left.
    // Any thread may call it. A process that inherits the descriptor can write to it: that also ends waits, but does
    // not change requested().
    int descriptor() const;
    const Cancellation* outer() const noexcept { return outer_; }

private:
    static void signal(int descriptor) noexcept;

    std::atomic<bool> requested_{false};
    mutable std::atomic<int> descriptor_{-1};  // none yet
    const Cancellation* outer_;
};

}  // namespace cleave
