// Owning file descriptors, and the system calls on them with EINTR, short transfers and non-blocking ends dealt with.
// Every function here throws std::system_error with `name` (what the descriptor is called in messages) unless it says
// otherwise.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cleave/cancel.h"
#include "cleave/input.h"

namespace cleave {

class Fd {
public:
    Fd() = default;
    explicit Fd(int descriptor) : descriptor_(descriptor) {}
    Fd(Fd&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Fd& operator=(Fd&& other) noexcept;
    ~Fd();

    int get() const noexcept { return descriptor_; }
    bool is_open() const noexcept { return descriptor_ >= 0; }
    // Gives it away.
    int release() noexcept { return std::exchange(descriptor_, -1); }
    // Closes it and reports what close() says; the destructor does not.
    void close(const std::string& name);

private:
    int descriptor_ = -1;
};

[[noreturn]] void throw_errno(const std::string& name);

struct stat stat_of(int descriptor, const std::string& name);
FileIdentity identity_of(const struct stat& status);

// Waits until the descriptor is ready for `events` (poll's). Throws Cancelled.
void wait_for(int descriptor, int events, const Cancellation* cancellation, const std::string& name);

// Reads what is there already, without waiting; at the descriptor's own place if the offset is -1. Returns how much, or
// -1 and errno: EAGAIN if nothing is there.
ssize_t read_now(int descriptor, std::int64_t offset, std::span<std::uint8_t> into) noexcept;

// Reads once, at least one byte unless the end is reached.
std::size_t read_some(int descriptor, std::span<std::uint8_t> into, const Cancellation* cancellation,
                      const std::string& name);

// Reads to the end, or until it has more than `most` bytes. The result is longer than `most` then.
std::string read_to_end(int descriptor, std::size_t most, const std::string& name);

// Reads at an offset, all of `into` unless the end comes first. Returns how much.
std::size_t read_at(int descriptor, std::uint64_t offset, std::span<std::uint8_t> into, const std::string& name);

// Throws Cancelled too, but not once all is written.
void write_all(int descriptor, std::span<const std::uint8_t> bytes, const std::string& name,
               const Cancellation* cancellation = nullptr);

// The same at an offset of a regular file. Any thread.
void write_all_at(int descriptor, std::uint64_t offset, std::span<const std::uint8_t> bytes, const std::string& name,
                  const Cancellation* cancellation = nullptr);

// How many descriptors the process may have open.
std::uint64_t descriptor_limit();

// Holds that many descriptors. Throws std::system_error if there are fewer.
class SpareDescriptors {
public:
    explicit SpareDescriptors(std::size_t count);

private:
    std::vector<Fd> held_;
};

// Where temporary files that may be large belong: $TMPDIR, else /var/tmp.
std::string temporary_directory();

// What a temporary file is called in messages: with its directory, and with the variable that names another one.
std::string temporary_name();

// An unlinked file in temporary_directory(), open for reading and writing.
Fd open_unlinked_temporary();

}  // namespace cleave
