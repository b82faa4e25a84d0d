// A shell command that reads what is written to it. Knows no pieces.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "cleave/cancel.h"
#include "io/fd.h"

namespace cleave {

// A child process `sh -c COMMAND` with a pipe to its standard input; the rest it inherits. Members are for one thread
// at a time, but for end().
class Child {
public:
    // `variables` ("NAME=value") are added to its environment. Throws std::system_error with `name`, which everything
    // below is called in messages too.
    Child(const std::string& command, std::span<const std::string> variables, std::string name);
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    // If it was not waited for it is ended: by SIGTERM, and by SIGKILL if it is still there after two seconds.
    ~Child();

    // Once the command does not read any more, what is written goes nowhere. Throws std::system_error, Cancelled.
    void write(std::span<const std::uint8_t> bytes, const Cancellation* cancellation);

    // Ends its input and waits until it has ended. Returns what waitpid() says of it. Throws std::system_error,
    // Cancelled.
    int wait(const Cancellation* cancellation);

    // Asks it to end. Any thread.
    void end() noexcept;

private:
    void reap() noexcept;

    std::string name_;
    std::mutex mutex_;  // of pid_ and status_: a process that was waited for must not be sent a signal
    pid_t pid_ = -1;    // -1 once it was waited for
    int status_ = 0;
    Fd process_;  // becomes readable when it has ended; closed where the system has no such thing
    Fd input_;    // closed once it does not read any more
};

}  // namespace cleave
