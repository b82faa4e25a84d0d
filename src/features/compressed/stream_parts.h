// The parts of a compressed stream that can be decoded independently of what comes before: gzip members that state
// their own length, as in BGZF. Finds where they end without decoding them. Knows nothing about threads.
//
// libdeflate takes 0.4 to 0.7 times as long as zlib, but cannot decode a stream chunk by chunk. It can decode these
// parts, because each is in memory in full.
//
// zstd frames could be found too. But libzstd's rules for block sizes, windows and the size of the content differ
// between a frame that is in memory in full and one that it gets chunk by chunk. Whether a damaged frame is rejected
// would then depend on the number of threads.
#pragma once

#include <libdeflate.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace cleave {

struct StreamPart {
    enum class Kind : std::uint8_t {
        kNone,  // no part begins here: from here on the stream must be decoded in order
        kCut,   // more bytes are needed to tell whether a part begins here, or where it ends
        kWhole,
    };

    Kind kind = Kind::kNone;
    std::size_t size = 0;  // kWhole: compressed size in bytes
    std::size_t room = 0;  // kWhole: decoded size in bytes
};

// Looks at the front of `bytes`. The result is only what the bytes claim, and may be wrong.
StreamPart find_part(std::span<const std::uint8_t> bytes) noexcept;

// For one thread at a time.
class PartDecoder {
public:
    PartDecoder();  // throws std::bad_alloc

    // Decodes a part, which takes up all of `from`, into exactly `into`. Writes nothing beyond it. Returns false if
    // `from` is not exactly one sound part, or does not have the decoded size that find_part() reported.
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
