#include "cleave/mapping_guard.h"

#include <pthread.h>

#include <cerrno>
#include <csignal>

#include "core/reader/mapping.h"

namespace cleave {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a signal handler has no other way to get it
struct sigaction previous;

void on_bus_error(int, siginfo_t* info, void*) {
    const int saved_errno = errno;
    const bool is_sent = info->si_code <= 0;  // by a process, so no address is at fault
    if (is_sent || !lay_zeros(info->si_addr)) {
        ::sigaction(SIGBUS, &previous, nullptr);  // the fault recurs on return
        // Pending for this thread until the handler returns. kill() could pick another thread, such as the thread
        // sanitizer's own, which must not run a handler.
        if (is_sent) ::pthread_kill(::pthread_self(), SIGBUS);
    }
    errno = saved_errno;
}

bool is_ours(const struct sigaction& action) {
    return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_bus_error;
}

}  // namespace

MappingGuard::MappingGuard() noexcept {
    ::sigaction(SIGBUS, nullptr, &previous);
    struct sigaction action = {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    ::sigaction(SIGBUS, &action, nullptr);
}

MappingGuard::~MappingGuard() {
    if (is_active()) ::sigaction(SIGBUS, &previous, nullptr);
}

bool MappingGuard::is_active() noexcept {
    struct sigaction action = {};
    return ::sigaction(SIGBUS, nullptr, &action) == 0 && is_ours(action);
}

}  // namespace cleave
