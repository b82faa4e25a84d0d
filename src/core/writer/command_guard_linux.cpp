// A command is a shell and all the processes that the shell has started. The guard is a fork of this program and the
// parent of the shell:
//
//     cleave ==== pipe ====> shell, and what the shell has started
//        \                    |
//         `-- control ------ guard
//
// The guard is a child subreaper (prctl(2), PR_SET_CHILD_SUBREAPER): a descendant whose parent ends becomes a child of
// the guard. So the processes of the command are exactly the descendants of the guard, even if they are in other
// sessions or process groups. Once the guard has no children, they have all ended. The process that uses the library is
// not affected. The command stays in the process group of that process, so it can ask for a password on the terminal,
// and Ctrl-C and Ctrl-Z reach it.
//
// The guard also holds the writing end of the pipe open. So a process reads the end of the input only after the guard
// has closed the writing end too. The guard closes it when the input is complete; otherwise it stays open until all
// processes of the command have ended and the guard itself ends. The control socket is closed when cleave asks the
// guard to end the command, and when cleave itself ends, even if it is killed by SIGKILL.
//
//     wait until the shell has ended or the control socket is closed
//         (on a byte from the control socket: close the writing end)
//     if the shell has succeeded: give its other processes kGrace to end; done if they do
//         (if the input is complete, only processes in the shell's session count: one that leaves it is meant to stay)
//     end all: SIGTERM to every descendant; after kGrace SIGKILL to every descendant until none is left;
//         each signal is sent while all of them are stopped
//
// The guard has two limits. It cannot signal a process of another user (sudo), and gives up on such a process kGrace
// after the first SIGKILL. And if the guard itself is killed by SIGKILL, the shell is killed too (PR_SET_PDEATHSIG),
// but processes that the shell has started may read the end of an incomplete input.
//
// Other threads of this program may hold locks at the time of the fork, for example malloc()'s. So the guard calls only
// functions that are safe in a signal handler (signal-safety(7)).
#include "core/writer/command_guard.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace cleave {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds kGrace{1500};
constexpr Milliseconds kForever{-1};

// Ends this process without calling the sanitizers' _exit(), which looks at the threads that the parent had at the time
// of the fork, and reports any that had ended but had not been joined yet.
[[noreturn]] void end_process(int status) noexcept {
    for (;;) ::syscall(SYS_exit_group, status);
}

struct Process {
    pid_t number, parent, session;
    char state;
};

// Returns nothing if the process is gone or is only waiting to be reaped. See proc_pid_stat(5).
std::optional<Process> process_of(pid_t number) noexcept {
    std::array<char, 32> path{"/proc/"};
    char* end = std::to_chars(path.data() + std::strlen(path.data()), path.data() + path.size(), number).ptr;
    std::memcpy(end, "/stat", sizeof "/stat");
    const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return std::nullopt;
    std::array<char, 512> buffer;
    const ssize_t size = ::read(file, buffer.data(), buffer.size());
    ::close(file);
    std::string_view text(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    // NUMBER (NAME) STATE PARENT GROUP SESSION ...; the name may contain parentheses and spaces.
    const std::size_t name_end = text.rfind(") ");
    if (name_end == std::string_view::npos || name_end + 4 > text.size()) return std::nullopt;
    const char state = text[name_end + 2];
    if (state == 'Z' || state == 'X') return std::nullopt;
    text.remove_prefix(name_end + 4);
    std::array<pid_t, 3> numbers{};
    for (pid_t& parsed : numbers) {
        std::from_chars(text.data(), text.data() + text.size(), parsed);
        text.remove_prefix(std::min(text.find(' '), text.size() - 1) + 1);
    }
    return Process{number, numbers[0], numbers[2], state};
}

// The process, if it descends from `ancestor`.
std::optional<Process> descendant(pid_t number, pid_t ancestor) noexcept {
    const std::optional<Process> found = process_of(number);
    for (std::optional<Process> at = found; at && at->parent > 0; at = process_of(at->parent)) {
        if (at->parent == ancestor) return found;
    }
    return std::nullopt;
}

// Calls `visit` for every descendant of this process. Returns whether /proc could be read.
template <class Visit>
bool visit_descendants(const Visit& visit) noexcept {
    const int directory = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return false;
    const pid_t self = ::getpid();
    static_assert(sizeof(dirent::d_ino) == 8 && sizeof(dirent::d_off) == 8, "a dirent is as the system makes it");
    alignas(dirent) std::array<char, 8192> entries;
    std::int64_t size = 0;
    while ((size = ::syscall(SYS_getdents64, directory, entries.data(), entries.size())) > 0) {
        for (std::int64_t at = 0; at < size;) {
            const auto* entry = reinterpret_cast<const dirent*>(entries.data() + at);
            at += entry->d_reclen;
            pid_t number = 0;
            std::from_chars(entry->d_name, entry->d_name + std::strlen(entry->d_name), number);
            if (number == 0) continue;
            if (const auto process = descendant(number, self)) visit(*process);
        }
    }
    ::close(directory);
    return size == 0;
}

void send_signal(const Process& process, int signal) noexcept {
    const int handle = static_cast<int>(::syscall(SYS_pidfd_open, process.number, 0));
    if (handle < 0) {
        // This system has no pidfds. The number belongs to another process only if the system has just reused it.
        if (errno == ENOSYS) ::kill(process.number, signal);
        return;
    }
    // The number may have been reused before the handle was opened, but cannot be reused from here on.
    if (descendant(process.number, ::getpid())) ::syscall(SYS_pidfd_send_signal, handle, signal, nullptr, 0);
    ::close(handle);
}

// Becomes the shell, with signals as if this program had never touched them.
[[noreturn]] void become_shell(const GuardOrder& order, pid_t guard) noexcept {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != guard) end_process(127);  // the guard ended before prctl()
    if (::dup2(order.input, STDIN_FILENO) < 0 || ::dup2(order.output, STDOUT_FILENO) < 0) end_process(127);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execve("/bin/sh", order.arguments, order.environment);
    end_process(127);
}

void close_all_but(std::array<int, 5> kept) noexcept {
    std::ranges::sort(kept);
    unsigned first = STDERR_FILENO + 1;
    const auto close_up_to = [&](unsigned last) {
        if (first <= last && ::syscall(SYS_close_range, first, last, 0) != 0 && errno == ENOSYS) {
            constexpr unsigned kMany = 65536;
            for (unsigned descriptor = first; descriptor <= std::min(last, kMany); ++descriptor) {
                ::close(static_cast<int>(descriptor));
            }
        }
    };
    for (const int descriptor : kept) {
        if (std::cmp_less(descriptor, first)) continue;
        close_up_to(static_cast<unsigned>(descriptor) - 1);
        first = static_cast<unsigned>(descriptor) + 1;
    }
    close_up_to(~0U);
}

class Guard {
public:
    explicit Guard(const GuardOrder& order) noexcept : order_(order) {}

    void run() noexcept {
        prepare();
        if (!start_shell()) return report();
        while (is_wanted_ && !shell_has_ended_) wait(kForever);
        end_.was_asked = !shell_has_ended_;
        if (shell_has_ended_ && end_.status == 0) wait_for_others();
        if (end_.has_failed()) tell_failure();
        if (!end_.was_asked && !end_.has_failed()) return report();
        end_all();
        report();
    }

private:
    // Signals are meant for the program and the command. The guard gets all that it needs to know from the control
    // socket.
    void prepare() noexcept {
        ::prctl(PR_SET_NAME, "filter-guard");  // so that "killall cleave" does not end it
        ::prctl(PR_SET_CHILD_SUBREAPER, 1);
        for (int signal = 1; signal < NSIG; ++signal) {
            struct sigaction action = {};
            const bool is_known = ::sigaction(signal, nullptr, &action) == 0;
            // This program ignores SIGXFSZ. If SIGCHLD were ignored, the shell's status would be lost.
            const bool is_ours = signal == SIGPIPE || signal == SIGXFSZ || signal == SIGCHLD;
            if (is_known && (is_ours || action.sa_handler != SIG_IGN)) std::ignore = ::signal(signal, SIG_DFL);
        }
        close_all_but({order_.input, order_.input_writer, order_.output, order_.control, order_.failure});
        sigset_t ended;
        ::sigemptyset(&ended);
        ::sigaddset(&ended, SIGCHLD);
        children_ = ::signalfd(-1, &ended, SFD_CLOEXEC | SFD_NONBLOCK);
    }

    bool start_shell() noexcept {
        const pid_t self = ::getpid();
        const pid_t forked = children_ < 0 ? -1 : ::fork();
        if (forked == 0) become_shell(order_, self);
        if (forked < 0) end_.error = errno;
        ::close(order_.input);
        shell_ = forked;
        return forked > 0;
    }

    // Waits until a child has ended, the control socket has something to read, or the time is up. Updates the state.
    void wait(Milliseconds timeout) noexcept {
        std::array<pollfd, 2> waits{{{children_, POLLIN, 0}, {is_wanted_ ? order_.control : -1, POLLIN, 0}}};
        if (::poll(waits.data(), waits.size(), static_cast<int>(timeout.count())) > 0 && waits[1].revents != 0) {
            char word = 0;
            if (::recv(order_.control, &word, 1, MSG_DONTWAIT) == 1 && word == kInputIsWhole) {
                ::close(order_.input_writer);
                is_whole_ = true;
            } else {
                is_wanted_ = false;
            }
        }
        signalfd_siginfo ignored;
        while (::read(children_, &ignored, sizeof ignored) > 0) {
        }
        reap();
    }

    void reap() noexcept {
        for (;;) {
            int status = 0;
            const pid_t ended = ::waitpid(-1, &status, WNOHANG);
            if (ended < 0 && errno == EINTR) continue;
            has_children_ = ended >= 0;
            if (ended <= 0) return;
            if (ended != shell_) continue;
            shell_has_ended_ = true;
            end_.status = status;
        }
    }

    // Waits for the other processes after the shell has ended. A process that has left the shell's session is meant to
    // stay, so the guard does not wait for it once the input is complete.
    void wait_for_others() noexcept {
        const pid_t session = ::getsid(0);
        const auto are_there = [&] {
            bool found = false;
            const auto look = [&](const Process& process) { found |= !is_whole_ || process.session == session; };
            if (has_children_) visit_descendants(look);
            return found;
        };
        for (const auto last = Clock::now() + kGrace; are_there(); wait(kStep)) {
            end_.was_asked = !is_wanted_;
            end_.left_running = Clock::now() >= last;
            if (end_.was_asked || end_.left_running) return;
        }
    }

    void end_all() noexcept {
        reap();
        signal_all(SIGTERM);
        for (const auto last = Clock::now() + kGrace; has_children_ && Clock::now() < last;) wait(kStep);
        for (const auto last = Clock::now() + kGrace; has_children_ && Clock::now() < last;) {
            signal_all(SIGKILL);
            wait(kStep);
        }
    }

    // Stops all processes, then sends the signal. Otherwise a process could read a premature end of input from a
    // process that was piping to it and got its signal earlier. Each process handles its signal when it is continued,
    // before it does anything else.
    void signal_all(int signal) const noexcept {
        if (!has_children_) return;
        for (const auto last = Clock::now() + kStopTime; stop_all() && Clock::now() < last;) {
        }
        const bool is_done = visit_descendants([&](const Process& process) { send_signal(process, signal); });
        visit_descendants([](const Process& process) { send_signal(process, SIGCONT); });
        if (!is_done && !shell_has_ended_) ::kill(shell_, signal);
    }

    // Returns whether any process had to be stopped; if so, it may just have started another one.
    static bool stop_all() noexcept {
        bool any = false;
        visit_descendants([&](const Process& process) {
            if (process.state == 'T' || process.state == 't') return;
            send_signal(process, SIGSTOP);
            // In state D, a process stops before it leaves the system call; it may be the parent in a vfork(2).
            any |= process.state != 'D';
        });
        return any;
    }

    void tell_failure() const noexcept {
        const std::uint64_t one = 1;
        std::ignore = ::write(order_.failure, &one, sizeof one);
    }

    void report() const noexcept {
        if (end_.error != 0) tell_failure();
        std::ignore = ::send(order_.control, &end_, sizeof end_, MSG_NOSIGNAL);
    }

    static constexpr Milliseconds kStep{20};
    static constexpr Milliseconds kStopTime{1000};

    const GuardOrder& order_;
    int children_ = -1;  // a signalfd that is readable when a child has ended
    pid_t shell_ = -1;
    bool shell_has_ended_ = false;
    bool has_children_ = true;
    bool is_wanted_ = true;  // the control socket is open
    bool is_whole_ = false;  // the input is complete and its writing end is closed
    CommandEnd end_;
};

}  // namespace

pid_t start_guard(const GuardOrder& order) noexcept {
    // This program's signal handlers must not run in the guard.
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t forked = ::fork();
    if (forked == 0) {
        Guard(order).run();
        end_process(0);
    }
    const int error = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
    return forked;
}

}  // namespace cleave
