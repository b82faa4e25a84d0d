// Runs a shell command and writes to its standard input. Knows nothing about pieces.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>

#include "cleave/cancel.h"
#include "core/reader/fd.h"
#include "core/writer/command_guard.h"

namespace cleave {

// Runs `sh -c COMMAND` with a pipe as its standard input. A guard process supervises the command; see command_guard.h.
// For one thread at a time. The process must have descriptors 0 to 2 open.
class Child {
public:
    // The command's environment, where its output goes, and which Cancellation is told when it fails.
    struct Surroundings {
        std::span<const std::string> variables;  // "NAME=value", added to the environment
        int output;                              // becomes the command's standard output
        const Cancellation* failure;  // its descriptor becomes readable if the command fails of its own accord
    };

    // `name` is what messages call the command and its pipe. Throws SystemError.
    Child(const std::string& command, const Surroundings& surroundings, std::string name);
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    // Ends any processes of the command that are still running, and then closes the command's input.
    ~Child() { end(); }

    // Writes the bytes to the command, or discards them once no process reads them. Throws SystemError,
    // Cancelled.
    void write(std::span<const std::uint8_t> bytes, const Cancellation* cancellation);

    // Closes the command's input, which is now whole, and waits for the command. Call this once. Throws
    // SystemError, Cancelled.
    CommandEnd wait(const Cancellation* cancellation);

    // Ends any processes of the command that are still running, and then closes the command's input. Returns how the
    // command ended; was_asked says whether this call was the reason. Takes about three seconds at most.
    CommandEnd end() noexcept;

private:
    CommandEnd take_report() noexcept;

    std::string name_;
    pid_t guard_ = -1;  // -1 once it has been waited for
    CommandEnd end_;    // valid once guard_ is -1
    Fd control_;
    Fd input_;  // closed once the input has ended or no process reads it
};

}  // namespace cleave
