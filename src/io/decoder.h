// Reads compressed streams, with libzstd. Knows nothing about descriptors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "cleave/compression.h"

namespace cleave {

// A stream of one or more consecutive frames. For one thread at a time.
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
};

// `format` must be neither kNone nor kGzip, for which there is GzipReader.
std::unique_ptr<Decoder> make_decoder(Compression format);

}  // namespace cleave
