// Decodes a compressed stream, by several threads if it consists of parts that can be decoded alone. Knows no
// descriptors.
//
//     bytes given   | part | part | part | part | par     find where they end and what room they need
//                      |  \       \      \              threads take parts, each with its own room
//     room          |   part   |  part  | part |  part |  what they become, one text
//
// What the parts are is taken from what they say of themselves, and believed once they are decoded: sizes and checksums
// must agree. From the first part for which they do not, or the first member that is no part, a Decoder goes on in
// order. A part waits until it is whole. So the bytes and the errors depend neither on the number of threads nor on the
// pieces in which the bytes come.
//
// They are those of the Decoder, but for one case: of damaged parts, libdeflate takes 1 in 100,000 that zlib refuses,
// where the damage changes neither size nor checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/unfilled_buffer.h"
#include "cleave/compression.h"
#include "io/decoder.h"
#include "io/stream_parts.h"

namespace cleave {

// What follows the bytes that a decoder is given.
enum class Following : std::uint8_t {
    kNothing,
    kLater,  // bytes that may take time to come
    kReady,  // bytes that can be had without waiting
};

// For one thread at a time.
class ParallelDecoder {
public:
    // Not for kNone. Throws std::bad_alloc.
    explicit ParallelDecoder(Compression format)
        : decoder_(make_decoder(format)), takes_parts_(format == Compression::kGzip) {}

    // How many threads may decode, this one among them, of which no more than 16 are used. 1 at first.
    void set_threads(unsigned threads) noexcept;

    // Takes bytes from the front of `from`, and returns what they become. Valid until the next call. Nothing only if
    // all of `from` was taken; or, unless kNothing follows, if the rest should be given again with bytes that follow.
    // Throws as Decoder::decode().
    std::span<const std::uint8_t> decode(std::span<const std::uint8_t>& from, Following following);

    // How many bytes to add to those that decode() left.
    std::size_t read_size() const;

    // The bytes taken so far are a whole stream: it may end here.
    bool is_whole() const { return decoder_->is_whole(); }

private:
    struct Part {
        std::span<const std::uint8_t> bytes;
        std::size_t offset;  // in buffer_
        std::size_t size;    // of what it becomes
    };

    bool find_parts(std::span<const std::uint8_t> bytes);
    std::size_t decode_parts(std::span<std::uint8_t> room);
    std::span<const std::uint8_t> take_parts(std::span<const std::uint8_t>& from);

    std::unique_ptr<Decoder> decoder_;
    unsigned threads_ = 1;
    bool takes_parts_;        // all members so far were sound parts
    bool has_parts_ = false;  // there were some
    std::vector<Part> parts_;
    std::size_t full_parts_ = 0;  // those of parts_ that are not empty, as the last one of BGZF is
    std::size_t room_ = 0;        // for parts_
    std::vector<std::unique_ptr<PartDecoder>> workers_;
    UnfilledBuffer buffer_;
};

}  // namespace cleave
