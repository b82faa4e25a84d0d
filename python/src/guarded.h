// Guards mapped inputs while any thread reads them.
#pragma once

#include <pthread.h>

#include <mutex>
#include <optional>

#include "cleave/mapping_guard.h"

namespace cleave::python {

// While any of these exists, so does a MappingGuard, so SIGBUS from a mapped input does not end the process. Between
// calls to the module, the process has the signal to itself.
class Guarded {
public:
    Guarded() {
        const std::scoped_lock lock(shared().mutex);
        if (shared().count++ == 0) shared().guard.emplace();
    }
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;
    ~Guarded() {
        const std::scoped_lock lock(shared().mutex);
        if (--shared().count == 0) shared().guard.reset();
    }

    // Call it once, when the module is loaded. No other thread is in one of the functions above at a fork, so the child
    // process never waits for one that it does not have.
    static void stay_usable_after_forks() {
        // With libc++, Clang would demand that a function that locks a std::mutex unlocks it, too.
        const auto unlock = [] { ::pthread_mutex_unlock(shared().mutex.native_handle()); };
        ::pthread_atfork([] { ::pthread_mutex_lock(shared().mutex.native_handle()); }, unlock, unlock);
    }

private:
    struct Shared {
        std::mutex mutex;
        unsigned count = 0;
        std::optional<MappingGuard> guard;
    };

    // Shared, because a signal belongs to the whole process.
    static Shared& shared() {
        static Shared shared;
        return shared;
    }
};

}  // namespace cleave::python
