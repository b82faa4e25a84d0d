// Signals that end a run which has something to clean up.
#pragma once

#include "cleave/cancel.h"

namespace cleave::cli {

// While it lives, SIGINT, SIGTERM, SIGHUP and SIGPIPE request the cancellation instead of ending the process. Signals
// that were ignored stay ignored. At most one guard may exist.
class SignalGuard {
public:
    explicit SignalGuard(Cancellation& cancellation);
    SignalGuard(const SignalGuard&) = delete;
    SignalGuard& operator=(const SignalGuard&) = delete;
    ~SignalGuard();

    // All is done and stays. From here to the end of the process these signals change nothing: a process that a signal
    // ends has left nothing.
    void conclude() noexcept { is_concluded_ = true; }

private:
    bool is_concluded_ = false;
};

// Ends the process by the signal that a guard caught, if one did.
void die_of_caught_signal();

}  // namespace cleave::cli
