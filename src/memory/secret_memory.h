// Memory for keys and what is computed from them. It is locked (never swapped), left out of core dumps, empty in a
// child process, and wiped when it is released. Knows no keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cleave {

// Pages of its own, owned. Zeros at first.
class SecretMemory {
public:
    // No bytes.
    SecretMemory() = default;
    // At least `size` bytes: whole pages. Throws std::system_error, with the limit if too much memory is locked.
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

// Overwrites what the functions that were called before have left on the stack of this thread, some KiB of it.
void wipe_stack() noexcept;

}  // namespace cleave
