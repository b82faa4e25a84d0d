// Input that comes through a pipe.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

namespace cleave::test {

// Writes a text into a pipe from another thread. Every read of the pipe returns one part of the text, except that
// Input::peek gathers the parts it looks at.
class Pipe {
public:
    // Parts have 1 .. 4096 bytes. The last of the sizes also applies to all later parts. Throws std::system_error.
    Pipe(std::string text, std::vector<std::size_t> part_sizes);
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    ~Pipe();

    // For Input::open.
    std::string path() const { return "/proc/self/fd/" + std::to_string(read_end_); }

private:
    void write_all(const std::string& text, const std::vector<std::size_t>& part_sizes) const;

    int read_end_;
    int write_end_;
    std::jthread writer_;
};

// A pipe that nothing is ever written to, and that stays open until it is destroyed.
class SilentPipe {
public:
    SilentPipe();
    SilentPipe(const SilentPipe&) = delete;
    SilentPipe& operator=(const SilentPipe&) = delete;
    ~SilentPipe();

    std::string path() const { return "/proc/self/fd/" + std::to_string(ends_[0]); }

private:
    int ends_[2];
};

// Whether this thread of the process is asleep in a system call.
bool is_asleep(pid_t thread);

}  // namespace cleave::test
