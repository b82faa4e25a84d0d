// Reads compressed streams, with zlib and libzstd. Knows nothing about descriptors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "cleave/compression.h"

namespace cleave {

// A stream of one or more consecutive members (gzip) or frames (zstd). For one thread at a time.
class Decoder {
public:
    Decoder() = default;
    Decoder(const Decoder&) = delete;
    Decoder& operator=(const Decoder&) = delete;
    virtual ~Decoder() = default;

    // Takes bytes from the front of `from` and returns how many it wrote to `into`, which must not be empty. Returns 0
    // only if all of `from` was taken. Throws InputError, without a place, if the bytes are corrupt; std::bad_alloc.
    virtual std::size_t decode(std::span<const std::uint8_t>& from, std::span<std::uint8_t> into) = 0;

    // Whether the bytes taken so far form a complete stream, which may end here.
    virtual bool is_whole() const = 0;

    // Says that earlier members were decoded elsewhere; see io/stream_parts.h. Call this only before the first
    // decode().
    virtual void pass_over_parts() {}
};

// `format` must not be kNone.
std::unique_ptr<Decoder> make_decoder(Compression format);

}  // namespace cleave
