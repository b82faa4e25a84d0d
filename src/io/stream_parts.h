// The parts of compressed streams that can be decoded without what is before them: members of gzip that say how long
// they are, as in BGZF, and frames of zstd. Finds where they end without decoding them. Knows no threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "cleave/compression.h"

namespace cleave {

struct StreamPart {
    enum class Kind : std::uint8_t {
        kNone,  // the stream must be decoded in order from here on: no part begins here, or a large one
        kCut,   // more bytes are needed to see whether a part begins here, or where it ends
        kWhole,
    };

    Kind kind = Kind::kNone;
    std::size_t size = 0;  // kWhole: in bytes, compressed
    std::size_t room = 0;  // kWhole: bytes that it becomes, at most
};

// Looks at the front of `bytes`. What it finds is only what the bytes say of themselves.
StreamPart find_part(Compression format, std::span<const std::uint8_t> bytes) noexcept;

// For one thread at a time.
class PartDecoder {
public:
    PartDecoder() = default;
    PartDecoder(const PartDecoder&) = delete;
    PartDecoder& operator=(const PartDecoder&) = delete;
    virtual ~PartDecoder() = default;

    // Decodes a part, all of `from`, and returns how many bytes it put into `into`. Writes nothing beyond `into`.
    // Nothing if `from` is not exactly one sound part, or does not become what find_part() said. Throws std::bad_alloc.
    virtual std::optional<std::size_t> decode(std::span<const std::uint8_t> from, std::span<std::uint8_t> into) = 0;
};

// Not for kNone. Throws std::bad_alloc.
std::unique_ptr<PartDecoder> make_part_decoder(Compression format);

}  // namespace cleave
