// The parts of compressed streams that can be decoded without what is before them: members of gzip that say how long
// they are, as in BGZF. Finds where they end without decoding them. Knows no threads.
//
// A part is whole in memory, so libdeflate decodes it: it takes 0.4 to 0.7 of zlib's time for that, but cannot decode a
// stream piece by piece.
//
// Frames of zstd could be found, too. But libzstd judges a frame that is whole in memory by other rules than one that
// it gets piece by piece: of block sizes, windows and the size of the content. So a damaged frame would be an error or
// not by the number of threads.
#pragma once

#include <libdeflate.h>

#include <cstddef>
#include <cstdint>
#include <memory>
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

    // Decodes a part, all of `from`, into all of `into`. Writes nothing beyond it. Returns false if `from` is not
    // exactly one sound part, or does not become what find_part() said.
    bool decode(std::span<const std::uint8_t> from, std::span<std::uint8_t> into) noexcept;

private:
    struct Free {
        void operator()(libdeflate_decompressor* decompressor) const noexcept {
            ::libdeflate_free_decompressor(decompressor);
        }
    };

    std::unique_ptr<libdeflate_decompressor, Free> decompressor_;
};

}  // namespace cleave
