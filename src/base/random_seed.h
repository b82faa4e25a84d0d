// Random bytes from the system.
#pragma once

#include <sys/random.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <span>
#include <system_error>

#include "cleave/error.h"

namespace cleave {

// Throws SystemError.
inline void fill_randomly(std::span<std::uint8_t> bytes) {
    while (!bytes.empty()) {
        const ssize_t size = ::getrandom(bytes.data(), bytes.size(), 0);
        if (size < 0 && errno != EINTR) throw SystemError(errno, std::generic_category(), "getrandom");
        if (size > 0) bytes = bytes.subspan(static_cast<std::size_t>(size));
    }
}

// The seed of a hash table whose keys come from the input. It is different each time, so nobody can prepare an input
// whose keys all fall into one slot. std::random_device is not used, because it would require a C library that has
// arc4random().
inline std::uint64_t random_seed() {
    std::array<std::uint8_t, sizeof(std::uint64_t)> bytes;
    fill_randomly(bytes);
    return std::bit_cast<std::uint64_t>(bytes);
}

}  // namespace cleave
