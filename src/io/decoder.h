// Reading compressed streams, by zlib and libzstd. Knows no descriptors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "cleave/compression.h"

namespace cleave {

// A stream of one or more members (gzip) or frames (zstd), one after the other. For one thread at a time.
class Decoder {
public:
    Decoder() = default;
    Decoder(const Decoder&) = delete;
    Decoder& operator=(const Decoder&) = delete;
    virtual ~Decoder() = default;

    // Takes bytes from the front of `from`, and returns how many it put into `into`, which is not empty. 0 only if all
    // of `from` was taken. Throws InputError, without a place, if they are corrupt; std::bad_alloc.
    virtual std::size_t decode(std::span<const std::uint8_t>& from, std::span<std::uint8_t> into) = 0;

    // The bytes taken so far are a whole stream: it may end here.
    virtual bool is_whole() const = 0;

    // Members before those that follow were decoded elsewhere; see io/stream_parts.h. Only before the first decode().
    virtual void pass_over_parts() {}
};

// Not for kNone.
std::unique_ptr<Decoder> make_decoder(Compression format);

}  // namespace cleave
