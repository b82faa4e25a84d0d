// zlib, for data that the fast decoder refuses: the verdict on damaged data, and its place, are always those of zlib.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "features/compressed/inflate/block.h"

namespace cleave {

// Some bits of `bytes`: those from `first` up to `end`.
struct BitRange {
    std::span<const std::uint8_t> bytes;
    std::uint64_t first, end;
};

// Reads a deflate stream from its middle to its end. For one thread at a time.
class Judge {
public:
    // `window` has the bytes before, up to 32 KiB of the same member. `head` is the head of the block that the stream
    // is in the middle of; it is empty between blocks. Neither is needed later. Throws std::bad_alloc.
    Judge(std::span<const std::uint8_t> window, const BitRange& head);
    Judge(const Judge&) = delete;
    Judge& operator=(const Judge&) = delete;
    ~Judge() { ::inflateEnd(&stream_); }

    // Passes bits of the last byte that was only used in part. At most 7; call this only before the first decode().
    void pass_bits(unsigned count, unsigned bits);

    // Takes bytes from the front of `from`, and writes to the front of `into`, which must not be empty. kAll: the
    // stream has ended. kNeedsInput: up to 4 bytes are left, which must be passed again with those that follow. kBad:
    // `from` begins with the first byte of which no bit was used. Sets `size` to how many bytes were written.
    Decoded decode(std::span<const std::uint8_t>& from, std::span<std::uint8_t> into, std::size_t& size);

private:
    void pass(std::span<const std::uint8_t> bytes);

    z_stream stream_{};
    std::size_t held_ = 0;  // bytes that zlib has taken, but not used
};

}  // namespace cleave
