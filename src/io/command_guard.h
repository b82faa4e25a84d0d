// The process between this program and a shell command that reads a pipe: no process of the command outlives the
// command, and none reads a clean end of input before the input is whole. How this is done: see
// command_guard_linux.cpp.
#pragma once

#include <sys/types.h>

namespace cleave {

// How a command has ended. It is the one message from the guard.
struct CommandEnd {
    int error = 0;              // errno if the command could not be started
    int status = 0;             // of the shell, as waitpid() gives it
    bool was_asked = false;     // it was still running when the guard was asked to end it
    bool left_running = false;  // the shell had succeeded, but processes that it had started had to be ended

    bool has_failed() const noexcept { return error != 0 || status != 0 || left_running; }
};

// All that a guard needs. The descriptors are those of the process that starts the guard.
struct GuardOrder {
    char* const* arguments = nullptr;    // of the shell; ends with a null pointer
    char* const* environment = nullptr;  // of the shell; ends with a null pointer
    int input = -1;                      // reading end of the pipe that is the command's standard input
    int input_writer = -1;               // writing end of that pipe
    int output = -1;                     // becomes the command's standard output
    int control = -1;                    // a socket of packets: see below
    int failure = -1;                    // an eventfd that is written to when the command fails by itself; or -1
};

// What is sent to the guard when the input is whole. The end of the socket asks the guard to end the command.
constexpr char kInputIsWhole = 'w';

// Forks a guard, which starts the command, ends all of it when needed, and at last sends a CommandEnd on the control
// socket. Returns the guard's process number, or -1 with errno. The caller must wait for that process.
pid_t start_guard(const GuardOrder& order) noexcept;

}  // namespace cleave
