#include "interruptible.h"

#include <utility>

#include "cleave/error.h"

namespace nb = nanobind;

namespace cleave::python {
namespace {

// For work that nobody watches.
class NoWatch final : public Watch {
public:
    void look() override {}
    void consent() override {}
};

}  // namespace

void Watch::await_consent() {
    std::unique_lock lock(mutex_);
    if (state_ != State::kRefused) state_ = State::kAsking;
    changed_.notify_all();
    changed_.wait(lock, [this] { return state_ != State::kAsking; });
    if (state_ == State::kRefused) throw Cancelled();
}

void run_interruptible(Cancellation& cancellation, FunctionRef<void()> work, Watch* watch) {
    NoWatch nobody;
    Watch& watching = watch == nullptr ? nobody : *watch;
    using State = Watch::State;
    std::exception_ptr thrown;
    std::exception_ptr refusal;
    const nb::gil_scoped_release unlocked;
    {
        bool is_done = false;  // guarded by the mutex
        const std::jthread worker([&] {
            try {
                work();
            } catch (...) {  // rethrown below
                thrown = std::current_exception();
            }
            const std::scoped_lock lock(watching.mutex_);
            is_done = true;
            watching.changed_.notify_all();
        });
        std::unique_lock lock(watching.mutex_);
        while (true) {
            watching.changed_.wait_for(lock, kPatience, [&] { return is_done || watching.state_ == State::kAsking; });
            if (is_done) break;
            const State state = watching.state_;
            if (state == State::kGranted || refusal) continue;
            lock.unlock();
            try {
                const nb::gil_scoped_acquire locked;
                if (PyErr_CheckSignals() != 0) throw nb::python_error();
                if (state == State::kAsking) {
                    watching.consent();
                } else {
                    watching.look();
                }
            } catch (...) {  // rethrown below
                refusal = std::current_exception();
                cancellation.request();
            }
            lock.lock();
            if (refusal) {
                watching.state_ = State::kRefused;
            } else if (state == State::kAsking) {
                watching.state_ = State::kGranted;
            }
            watching.changed_.notify_all();
        }
    }
    if (!refusal && !thrown) return;
    const nb::gil_scoped_acquire locked;
    std::rethrow_exception(refusal ? std::exchange(refusal, {}) : std::exchange(thrown, {}));
}

}  // namespace cleave::python
