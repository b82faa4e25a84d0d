#include "core/writer/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace cleave {
namespace {

// While this object exists, a write by this thread to a pipe without readers fails instead of raising a signal.
class BrokenPipeGuard {
public:
    BrokenPipeGuard() {
        ::sigemptyset(&broken_);
        ::sigaddset(&broken_, SIGPIPE);
        sigset_t pending;
        ::sigpending(&pending);
        was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
        ::pthread_sigmask(SIG_BLOCK, &broken_, &before_);
    }
    BrokenPipeGuard(const BrokenPipeGuard&) = delete;
    BrokenPipeGuard& operator=(const BrokenPipeGuard&) = delete;
    ~BrokenPipeGuard() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

    // Call this after a write has failed with EPIPE: takes the SIGPIPE that the write sent to this thread. A SIGPIPE
    // that was already pending stays.
    void take_signal() const {
        const timespec now{0, 0};
        while (!was_pending_ && ::sigtimedwait(&broken_, nullptr, &now) < 0 && errno == EINTR) {
        }
    }

private:
    sigset_t broken_;
    sigset_t before_;
    bool was_pending_;
};

// The environment of this process, with `variables` in place of the variables of the same names.
std::vector<char*> environment_with(std::span<const std::string> variables) {
    std::vector<char*> all;
    for (const std::string& variable : variables) all.push_back(const_cast<char*>(variable.c_str()));
    for (char** own = environ; *own != nullptr; ++own) {
        const std::string_view text(*own);
        const auto hides = [&](std::string_view variable) {
            return text.starts_with(variable.substr(0, variable.find('=') + 1));
        };
        if (std::ranges::none_of(variables, hides)) all.push_back(*own);
    }
    all.push_back(nullptr);
    return all;
}

}  // namespace

Child::Child(const std::string& command, const Surroundings& surroundings, std::string name) : name_(std::move(name)) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw_errno(name_);
    const Fd input(ends[0]);
    input_ = Fd(ends[1]);
    // The reading end has a separate open file description, which stays in blocking mode.
    if (::fcntl(input_.get(), F_SETFL, O_NONBLOCK) != 0) throw_errno(name_);
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) throw_errno(name_);
    control_ = Fd(ends[0]);
    const Fd control_of_guard(ends[1]);
    const std::string words[] = {"sh", "-c", command};
    char* const arguments[] = {const_cast<char*>(words[0].c_str()), const_cast<char*>(words[1].c_str()),
                               const_cast<char*>(words[2].c_str()), nullptr};
    const std::vector<char*> environment = environment_with(surroundings.variables);
    const int failure = surroundings.failure != nullptr ? surroundings.failure->descriptor() : -1;
    guard_ = start_guard({arguments, environment.data(), input.get(), input_.get(), surroundings.output,
                          control_of_guard.get(), failure});
    if (guard_ < 0) throw_errno(name_);
}

void Child::write(std::span<const std::uint8_t> bytes, const Cancellation* cancellation) {
    if (!input_.is_open()) return;
    const BrokenPipeGuard guard;
    try {
        write_all(input_.get(), bytes, name_, cancellation);
    } catch (const std::system_error& error) {
        if (error.code() != std::errc::broken_pipe) throw;
        guard.take_signal();
        input_ = Fd();
    }
}

CommandEnd Child::wait(const Cancellation* cancellation) {
    input_ = Fd();
    // If this fails, the guard has ended, and its report can be received.
    std::ignore = ::send(control_.get(), &kInputIsWhole, 1, MSG_NOSIGNAL);
    wait_for(control_.get(), POLLIN, cancellation, name_);
    return take_report();
}

CommandEnd Child::end() noexcept {
    if (guard_ < 0) return end_;
    ::shutdown(control_.get(), SHUT_WR);
    take_report();
    input_ = Fd();
    return end_;
}

// Waits for the guard's report and then for the guard to end. A guard that was killed sends no report. If the guard
// ended without reading kInputIsWhole, ECONNRESET comes before the report.
CommandEnd Child::take_report() noexcept {
    ssize_t size = 0;
    do {
        size = ::recv(control_.get(), &end_, sizeof end_, 0);
    } while (size < 0 && (errno == EINTR || errno == ECONNRESET));
    while (::waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
    }
    guard_ = -1;
    if (size != sizeof end_) end_ = {.status = SIGKILL};
    return end_;
}

}  // namespace cleave
