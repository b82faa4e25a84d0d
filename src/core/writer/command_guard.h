// The process between this program and a shell command that reads a pipe. It makes sure that no process started by the
// command outlives it, and that none of them sees a clean end of input before the input is complete.
// command_guard_linux.cpp explains how.
#pragma once

#include <sys/types.h>

namespace cleave {

// How a command ended. This is the guard's only message.
struct CommandEnd {
    int error = 0;              // errno if the command could not be started
    int status = 0;             // the shell's, as returned by waitpid()
    bool was_asked = false;     // it was still running when the guard was asked to end it
    bool left_running = false;  // the shell had succeeded, but processes that it had started had to be ended

    bool has_failed() const noexcept { return error != 0 || status != 0 || left_running; }
};

// Everything that a guard needs. The descriptors belong to the process that starts the guard.
struct GuardOrder {
    char* const* arguments = nullptr;    // the shell's; ends with a null pointer
    char* const* environment = nullptr;  // the shell's; ends with a null pointer
    int input = -1;                      // the reading end of the pipe that is the command's standard input
    int input_writer = -1;               // the writing end of that pipe
    int output = -1;                     // becomes the command's standard output
    int control = -1;                    // a packet socket, see below
    int failure = -1;                    // an eventfd to write to if the command fails of its own accord; or -1
};

// Sent to the guard when the input is complete. Closing the socket asks the guard to end the command.
constexpr char kInputIsWhole = 'w';

// Forks a guard, which starts the command, ends all of its processes when needed, and finally sends a CommandEnd on the
// control socket. Returns the guard's process number, or -1 with errno set. The caller must wait for that process.
pid_t start_guard(const GuardOrder& order) noexcept;

}  // namespace cleave
