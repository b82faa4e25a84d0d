#include "cli/signals.h"

#include <atomic>
#include <csignal>
#include <tuple>

namespace cleave::cli {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};

// A signal handler can get data only from globals.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): see above
std::atomic<Cancellation*> target{nullptr};
std::atomic<int> caught{0};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<Cancellation*>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void on_signal(int signal) {
    caught.store(signal);
    if (Cancellation* cancellation = target.load()) cancellation->request();
}

}  // namespace

SignalGuard::SignalGuard(Cancellation& cancellation) {
    target.store(&cancellation);
    for (const int signal : kSignals) {
        struct sigaction action = {};
        if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
        action = {};
        action.sa_handler = on_signal;  // without SA_RESTART, so that a blocked call returns and the request is noticed
        ::sigaction(signal, &action, nullptr);
    }
}

SignalGuard::~SignalGuard() {
    target.store(nullptr);
    if (is_concluded_) return;
    for (const int signal : kSignals) {
        struct sigaction action = {};
        if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler != on_signal) continue;
        std::ignore = ::signal(signal, SIG_DFL);
    }
}

int caught_signal() noexcept { return caught.load(); }

void die_of_caught_signal() {
    if (const int signal = caught_signal(); signal != 0) std::ignore = ::raise(signal);
}

}  // namespace cleave::cli
