// The guard of mapped inputs, for as long as somebody reads them.
#pragma once

#include <mutex>
#include <optional>

#include "cleave/mapping_guard.h"

namespace cleave::python {

// While one of these exists there is a MappingGuard, so SIGBUS from a mapped input does not end the process. Between
// calls of the module the signal is the process's own.
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

private:
    struct Shared {
        std::mutex mutex;
        unsigned count = 0;
        std::optional<MappingGuard> guard;
    };

    // A signal belongs to the whole process.
    static Shared& shared() {
        static Shared shared;
        return shared;
    }
};

}  // namespace cleave::python
