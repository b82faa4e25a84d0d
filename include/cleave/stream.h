// Bytes that can be read once, in order: from a pipe, a device or a decoder. For random access, see blob.h. Knows
// nothing about CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cleave {

// For use by one thread at a time.
class Stream {
public:
    Stream() = default;
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    virtual ~Stream() = default;

    // The first `size` bytes, or all of a shorter stream. read() returns them again. Valid until the next call. Throws
    // ArgumentError after a read(), SystemError, Cancelled, and InputError if compressed data is corrupt
    // or truncated.
    virtual std::span<const std::uint8_t> peek(std::size_t size) = 0;

    // The next bytes; none at the end. Valid until the next call. Throws what peek() throws.
    virtual std::span<const std::uint8_t> read() = 0;

    // How many bytes were read from the source, before decompression.
    virtual std::uint64_t consumed() const noexcept = 0;
};

}  // namespace cleave
