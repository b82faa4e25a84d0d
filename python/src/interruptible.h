// Runs long library work for Python: without the GIL, and interruptible with Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "cleave/cancel.h"

namespace cleave::python {

// How often to ask the interpreter whether there are signals.
constexpr std::chrono::milliseconds kPatience{50};

// Calls work() in its own thread, without the GIL, and waits for it. If a Python signal handler raises an exception in
// the meantime, requests `cancellation`, and throws that exception after the work has ended. Throws what the work
// throws. Python runs signal handlers only in the main thread.
template <class Work>
void run_interruptible(Cancellation& cancellation, const Work& work) {
    std::mutex mutex;
    std::condition_variable ended;
    bool is_done = false;
    std::exception_ptr thrown;
    const nanobind::gil_scoped_release unlocked;
    bool is_interrupted = false;
    {
        const std::jthread worker([&] {
            try {
                work();
            } catch (...) {  // rethrown below
                thrown = std::current_exception();
            }
            const std::scoped_lock lock(mutex);
            is_done = true;
            ended.notify_all();
        });
        std::unique_lock lock(mutex);
        while (!ended.wait_for(lock, kPatience, [&] { return is_done; })) {
            lock.unlock();
            if (!is_interrupted) {
                const nanobind::gil_scoped_acquire locked;
                is_interrupted = PyErr_CheckSignals() != 0;
            }
            if (is_interrupted) cancellation.request();
            lock.lock();
        }
    }
    if (is_interrupted) {
        const nanobind::gil_scoped_acquire locked;
        throw nanobind::python_error();
    }
    if (thrown) std::rethrow_exception(thrown);
}

}  // namespace cleave::python
