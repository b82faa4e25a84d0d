// Decodes a compressed stream, with several threads if it consists of parts that can be decoded separately. Knows
// nothing about descriptors.
//
//     bytes given   | part | part | part | part | par     find where they end and how much room they need
//                      |  \       \      \              threads take parts, each with its own room
//     room          |   part   |  part  | part |  part |  their decoded bytes, contiguous
//
// The bytes themselves claim where the parts are. The claim is believed only once the parts are decoded and their sizes
// and checksums agree with it. From the first part for which they do not agree, or the first member that is not a part,
// a GzipReader continues in order. A part is decoded only after all of it has arrived. Neither the decoded bytes nor
// the errors therefore depend on the number of threads or on how the input is split across calls.
//
// The result is the same as in order, with one exception: libdeflate accepts 1 in 100,000 of the damaged parts that
// zlib rejects. In these, the damage changes neither size nor checksum.
#pragma once

#include <libdeflate.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/unfilled_buffer.h"
#include "cleave/compression.h"
#include "features/compressed/decoder.h"
#include "features/compressed/inflate/gzip_reader.h"

namespace cleave {

// The parts of a compressed stream that can be decoded independently of what comes before: gzip members that state
// their own length, as in BGZF. Finds where they end without decoding them. Knows nothing about threads.
//
// libdeflate takes 0.4 to 0.7 times as long as zlib, but cannot decode a stream chunk by chunk. It can decode these
// parts, because each is in memory in full.
//
// zstd frames could be found too. But libzstd's rules for block sizes, windows and the size of the content differ
// between a frame that is in memory in full and one that it gets chunk by chunk. Whether a damaged frame is rejected
// would then depend on the number of threads.

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

// What follows the bytes passed to decode().
enum class Following : std::uint8_t {
    kNothing,
    kLater,  // bytes that may take time to arrive
    kReady,  // bytes that can be read without waiting
};

// For one thread at a time.
class ParallelDecoder {
public:
    // `format` must not be kNone. Throws std::bad_alloc.
    explicit ParallelDecoder(Compression format);

    // Sets how many threads may decode, including the calling one; at most 16 are used. The default is 1.
    void set_threads(unsigned threads) noexcept;

    // Takes bytes from the front of `from` and returns them decoded. The result is valid until the next call, and is
    // empty only if all of `from` was taken, or if the remaining bytes should be passed again together with bytes that
    // follow; if kNothing follows, the stream ends too early. Throws what Decoder::decode() throws.
    std::span<const std::uint8_t> decode(std::span<const std::uint8_t>& from, Following following);

    // The places of a gzip stream that the last decode() has passed, in order. Their bits count from the first byte it
    // was given.
    std::span<const PassedPlace> places() const noexcept { return places_; }

    // How many bytes to read in addition to those that decode() did not take.
    std::size_t read_size() const;

    // Says that no bytes follow, and returns what is still to come, as decode() does; empty at the end.
    std::span<const std::uint8_t> finish();

    // Whether the bytes taken so far form a complete stream, which may end here. Call it after finish().
    bool is_whole() const { return gzip_ ? gzip_->is_whole() : decoder_->is_whole(); }

    // See Decoder.
    bool has_place() const { return gzip_ || decoder_->has_place(); }

    // Whether the stream is gzip that has to be read in order. If so, take_reader() may be called, after which nothing
    // else may.
    bool reads_gzip_in_order() const noexcept { return gzip_ != nullptr && !takes_parts_; }
    std::unique_ptr<GzipReader> take_reader() noexcept { return std::move(gzip_); }

private:
    struct Part {
        std::span<const std::uint8_t> bytes;
        std::size_t offset;  // in buffer_
        std::size_t size;    // decoded
    };

    bool find_parts(std::span<const std::uint8_t> bytes);
    std::size_t decode_parts(std::span<std::uint8_t> room);
    std::span<const std::uint8_t> take_parts(std::span<const std::uint8_t>& from, const std::uint8_t* begin);

    std::unique_ptr<GzipReader> gzip_;  // either this or the next
    std::unique_ptr<Decoder> decoder_;
    unsigned threads_ = 1;
    bool takes_parts_;        // all members so far were sound parts
    bool has_parts_ = false;  // at least one part has been found
    std::vector<Part> parts_;
    std::size_t full_parts_ = 0;  // how many of parts_ are not empty; BGZF ends with an empty one
    std::size_t room_ = 0;        // for parts_
    std::vector<std::unique_ptr<PartDecoder>> workers_;
    UnfilledBuffer buffer_;
    std::vector<PassedPlace> places_;
};

}  // namespace cleave
