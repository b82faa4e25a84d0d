// The parts of compressed streams that can be decoded without what is before them: members of gzip that say how long
// they are, as in BGZF. Finds where they end without decoding them. Knows no threads.
//
// Frames of zstd could be found, too. But libzstd judges a frame that is whole in memory by other rules than one that
// it gets piece by piece: of block sizes, windows and the size of the content. So a damaged frame would be an error or
// not by the number of threads.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace cleave {

struct StreamPart {
    enum class Kind : std::uint8_t {
        kNone,  // the stream must be decoded in order from here on: no part begins here
        kCut,   // more bytes are needed to see whether a part begins here, or where it ends
        kWhole,
    };

    Kind kind = Kind::kNone;
    std::size_t size = 0;  // kWhole: in bytes, compressed
    std::size_t room = 0;  // kWhole: bytes that it becomes
};

// Looks at the front of `bytes`. What it finds is only what the bytes say of themselves.
StreamPart find_part(std::span<const std::uint8_t> bytes) noexcept;

// For one thread at a time.
class PartDecoder {
public:
    PartDecoder();  // throws std::bad_alloc
    PartDecoder(const PartDecoder&) = delete;
    PartDecoder& operator=(const PartDecoder&) = delete;
    ~PartDecoder();

    // Decodes a part, all of `from`, into all of `into`. Writes nothing beyond it. Returns false if `from` is not
    // exactly one sound part, or does not become what find_part() said. Throws std::bad_alloc.
    bool decode(std::span<const std::uint8_t> from, std::span<std::uint8_t> into);

private:
    z_stream stream_{};
};

}  // namespace cleave
