// Bytes that come one after another, once: through a pipe, from a device, out of a decoder. Bytes that are all there
// are a Blob. Knows no CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cleave {

// For one thread at a time.
class Stream {
public:
    Stream() = default;
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    virtual ~Stream() = default;

    // The first bytes, `size` of them unless the stream is shorter, which read() gives all the same. Valid until the
    // next call. Throws std::invalid_argument after a read(), std::system_error, Cancelled, and InputError if
    // compressed data are corrupt or end too early.
    virtual std::span<const std::uint8_t> peek(std::size_t size) = 0;

    // The next bytes, none at the end. Valid until the next call. Throws as peek().
    virtual std::span<const std::uint8_t> read() = 0;

    // How many bytes were read of what the stream comes from: compressed ones if it is compressed.
    virtual std::uint64_t consumed() const noexcept = 0;
};

}  // namespace cleave
