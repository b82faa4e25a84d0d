// Memory for keys and for values computed from them. It is locked (never swapped), left out of core dumps, empty in a
// child process, and wiped when released. Knows nothing about keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cleave {

// Owns complete pages, which are initially zero.
class SecretMemory {
public:
    // Empty.
    SecretMemory() = default;
    // Holds at least `size` bytes, rounded up to whole pages. Throws SystemError, whose text gives the limit if
    // too much memory is locked.
    explicit SecretMemory(std::size_t size);

    SecretMemory(SecretMemory&& other) noexcept;
    SecretMemory& operator=(SecretMemory&& other) noexcept;
    ~SecretMemory();

    std::span<std::uint8_t> bytes() noexcept { return bytes_; }
    std::span<const std::uint8_t> bytes() const noexcept { return bytes_; }

private:
    void protect();
    void release() noexcept;

    std::span<std::uint8_t> bytes_;
};

// Overwrites what earlier function calls have left in the next 4 KiB of this thread's stack.
void wipe_stack() noexcept;

}  // namespace cleave
