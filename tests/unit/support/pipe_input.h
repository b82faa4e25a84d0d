// Input that comes through a pipe.
#pragma once

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

namespace cleave::test {

// Writes a text into a pipe by another thread. Every read of the pipe gives one part of the text; but
// Input::peek gathers the parts it looks at.
class Pipe {
public:
    // Parts have 1 .. 4096 bytes; the last size holds for all that follow. Throws std::system_error.
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

// A pipe into which nothing is ever written, and which is never closed before its destruction.
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

}  // namespace cleave::test
