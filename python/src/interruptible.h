// Runs long library work for Python: without the GIL, and interruptible with Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>

#include "cleave/cancel.h"
#include "cleave/function_ref.h"

namespace cleave::python {

// How often to ask the interpreter whether there are signals.
constexpr std::chrono::milliseconds kPatience{50};

// What the calling thread does while it waits for the work. Both functions are called by that thread, with the GIL. If
// one throws, the work is cancelled, and its exception is thrown after the work has ended.
class Watch {
public:
    Watch() = default;
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    virtual ~Watch() = default;

    // Called every kPatience.
    virtual void look() = 0;
    // The work is about to do what cannot be undone.
    virtual void consent() = 0;

    // For the work: waits until the calling thread has consented. Throws Cancelled if it has not. From then on, nothing
    // interrupts the work.
    void await_consent();

private:
    friend void run_interruptible(Cancellation& cancellation, FunctionRef<void()> work, Watch* watch);

    enum class State : std::uint8_t { kWorking, kAsking, kGranted, kRefused };

    std::mutex mutex_;
    std::condition_variable changed_;
    State state_ = State::kWorking;
};

// Calls work() in its own thread, without the GIL, and waits for it. If a Python signal handler raises an exception in
// the meantime, requests `cancellation`, and throws that exception after the work has ended. Throws what the work
// throws. Python runs signal handlers only in the main thread. `watch` may be null.
void run_interruptible(Cancellation& cancellation, FunctionRef<void()> work, Watch* watch = nullptr);

}  // namespace cleave::python
