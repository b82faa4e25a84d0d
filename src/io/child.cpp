#include "io/child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <new>
#include <system_error>
#include <tuple>
#include <vector>

namespace cleave {
namespace {

// While it lives, writing to a pipe that nobody reads is an error of this thread and nothing else.
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
    ~BrokenPipeGuard() {
        const timespec now{0, 0};
        while (!was_pending_ && ::sigtimedwait(&broken_, nullptr, &now) < 0 && errno == EINTR) {
        }
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

private:
    sigset_t broken_;
    sigset_t before_;
    bool was_pending_;
};

// How a process is to begin: with `input` as its standard input, and signals as if this program had never touched them.
class SpawnPlan {
public:
    explicit SpawnPlan(int input) {
        ::posix_spawn_file_actions_init(&actions_);
        // Asks for memory. Without this action the command would read our own standard input.
        if (::posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO) != 0) throw std::bad_alloc();
        ::posix_spawnattr_init(&attributes_);
        sigset_t none;
        ::sigemptyset(&none);
        ::posix_spawnattr_setsigmask(&attributes_, &none);
        sigset_t ours;
        ::sigemptyset(&ours);
        for (const int signal : {SIGPIPE, SIGXFSZ}) ::sigaddset(&ours, signal);
        ::posix_spawnattr_setsigdefault(&attributes_, &ours);
        ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
    SpawnPlan(const SpawnPlan&) = delete;
    SpawnPlan& operator=(const SpawnPlan&) = delete;
    ~SpawnPlan() {
        ::posix_spawn_file_actions_destroy(&actions_);
        ::posix_spawnattr_destroy(&attributes_);
    }

    const posix_spawn_file_actions_t* actions() const { return &actions_; }
    const posix_spawnattr_t* attributes() const { return &attributes_; }

private:
    posix_spawn_file_actions_t actions_;
    posix_spawnattr_t attributes_;
};

// This process's environment, with those of `variables` in place of its own.
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

Child::Child(const std::string& command, std::span<const std::string> variables, std::string name)
    : name_(std::move(name)) {
    int ends[2];
    // That the writing end does not block is seen here only: the reading end has a description of its own.
    if (::pipe2(ends, O_CLOEXEC) != 0) throw_errno(name_);
    const Fd output(ends[0]);
    input_ = Fd(ends[1]);
    if (::fcntl(input_.get(), F_SETFL, O_NONBLOCK) != 0) throw_errno(name_);
    const SpawnPlan plan(output.get());
    const std::string words[] = {"sh", "-c", command};
    char* const arguments[] = {const_cast<char*>(words[0].c_str()), const_cast<char*>(words[1].c_str()),
                               const_cast<char*>(words[2].c_str()), nullptr};
    std::vector<char*> environment = environment_with(variables);
    const int error = ::posix_spawn(&pid_, "/bin/sh", plan.actions(), plan.attributes(), arguments, environment.data());
    if (error != 0) {
        pid_ = -1;
        throw std::system_error(error, std::generic_category(), name_ + ": sh");
    }
    process_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
}

Child::~Child() {
    if (pid_ < 0) return;
    end();
    input_ = Fd();
    constexpr int kPatienceMs = 2000;
    pollfd ended{process_.get(), POLLIN, 0};
    int ready = 0;
    do {
        ready = ::poll(&ended, 1, kPatienceMs);
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) ::kill(pid_, SIGKILL);
    reap();
}

void Child::write(std::span<const std::uint8_t> bytes, const Cancellation* cancellation) {
    if (!input_.is_open()) return;
    const BrokenPipeGuard guard;
    try {
        write_all(input_.get(), bytes, name_, cancellation);
    } catch (const std::system_error& error) {
        if (error.code() != std::errc::broken_pipe) throw;
        input_ = Fd();
    }
}

int Child::wait(const Cancellation* cancellation) {
    input_ = Fd();
    if (process_.is_open()) wait_for(process_.get(), POLLIN, cancellation, name_);
    reap();
    return status_;
}

void Child::end() noexcept {
    const std::lock_guard lock(mutex_);
    if (pid_ > 0) ::kill(pid_, SIGTERM);
}

// Waits for its end, if it has not come yet, without taking its number from it: only then is that done, and by none
// who could send it a signal meanwhile.
void Child::reap() noexcept {
    siginfo_t info;
    while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    const std::lock_guard lock(mutex_);
    while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
}

}  // namespace cleave
