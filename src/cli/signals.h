// Handles signals that end a run that has something to clean up.
#pragma once

#include "cleave/cancel.h"

namespace cleave::cli {

// While a guard exists, SIGINT, SIGTERM, SIGHUP and SIGPIPE request cancellation instead of ending the process. Signals
// that were ignored stay ignored. At most one guard may exist at a time.
class SignalGuard {
public:
    explicit SignalGuard(Cancellation& cancellation);
    SignalGuard(const SignalGuard&) = delete;
    SignalGuard& operator=(const SignalGuard&) = delete;
    ~SignalGuard();

    // Call when everything is done and will stay. From then on these signals have no effect, because other programs
    // assume that a process ended by a signal left nothing behind.
    void conclude() noexcept { is_concluded_ = true; }

private:
    bool is_concluded_ = false;
};

// The signal that a guard caught last; 0 if none.
int caught_signal() noexcept;
// If a guard caught a signal, ends the process with that signal.
void die_of_caught_signal();

}  // namespace cleave::cli
