// Owning file descriptors, and the system calls on them, which take care of EINTR, short transfers and non-blocking
// descriptors. Unless otherwise stated, every function here throws SystemError with `name`, which is what
// messages call the descriptor.
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
    // Gives up ownership.
    int release() noexcept { return std::exchange(descriptor_, -1); }
    // Closes the descriptor, and throws if close() fails. The destructor ignores such a failure.
    void close(const std::string& name);

private:
    int descriptor_ = -1;
};

[[noreturn]] void throw_errno(const std::string& name);

struct stat stat_of(int descriptor, const std::string& name);
FileIdentity identity_of(const struct stat& status);

// Waits until the descriptor is ready for `events` (as for poll()). Throws Cancelled.
void wait_for(int descriptor, int events, const Cancellation* cancellation, const std::string& name);

// Reads what is already available, without waiting; at the descriptor's own offset if `offset` is -1. Returns the
// number of bytes, or -1 with errno set (EAGAIN if nothing is available).
ssize_t read_now(int descriptor, std::int64_t offset, std::span<std::uint8_t> into) noexcept;

// Reads once: at least one byte, unless the end is reached.
std::size_t read_some(int descriptor, std::span<std::uint8_t> into, const Cancellation* cancellation,
                      const std::string& name);

// Reads to the end, but stops early once it has more than `most` bytes. The result is then longer than `most`.
std::string read_to_end(int descriptor, std::size_t most, const std::string& name);

// Reads from an offset. Fills `into`, unless the end comes first. Returns the number of bytes read.
std::size_t read_at(int descriptor, std::uint64_t offset, std::span<std::uint8_t> into, const std::string& name);

// Also throws Cancelled, but not once everything is written.
void write_all(int descriptor, std::span<const std::uint8_t> bytes, const std::string& name,
               const Cancellation* cancellation = nullptr);

// Like write_all(), but at an offset in a regular file. Thread-safe.
void write_all_at(int descriptor, std::uint64_t offset, std::span<const std::uint8_t> bytes, const std::string& name,
                  const Cancellation* cancellation = nullptr);

// The maximum number of descriptors that the process may have open.
std::uint64_t descriptor_limit();

// Holds `count` descriptors. Throws SystemError if they are not available.
class SpareDescriptors {
public:
    explicit SpareDescriptors(std::size_t count);

private:
    std::vector<Fd> held_;
};

// The directory for temporary files that may be large: $TMPDIR, or else /var/tmp.
std::string temporary_directory();

// What messages call a temporary file: its directory, and the variable that selects a different one.
std::string temporary_name();

// Opens an unlinked file in temporary_directory() for reading and writing.
Fd open_unlinked_temporary();

}  // namespace cleave
