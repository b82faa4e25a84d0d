// Writing compressed streams, by zlib and libzstd. Knows no descriptors.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "cleave/compression.h"

namespace cleave {

class Cancellation;
class Helpers;

// One stream: a gzip member or a zstd frame with a checksum. The same bytes make the same stream, however they are
// divided into calls and whoever helps. For one thread at a time.
class Encoder {
public:
    using Take = std::function<void(std::span<const std::uint8_t>)>;

    Encoder() = default;
    Encoder(const Encoder&) = delete;
    Encoder& operator=(const Encoder&) = delete;
    virtual ~Encoder() = default;

    // Calls `take` with the bytes of the stream that are ready. Throws what `take` throws, std::bad_alloc, and,
    // for gzip, Cancelled if the cancellation asks for it.
    virtual void encode(std::span<const std::uint8_t> bytes, const Take& take) = 0;
    // The same for the rest of the stream. encode() must not be called after this.
    virtual void finish(const Take& take) = 0;
};

// Not for kNone. For gzip, the thread that encodes counts as a worker of `helpers`, and they help it; they must outlive
// the encoder, as `cancellation` must. A zstd frame is made by one thread. Throws std::bad_alloc.
std::unique_ptr<Encoder> make_encoder(const CompressionOptions& wanted, Helpers* helpers = nullptr,
                                      const Cancellation* cancellation = nullptr);

}  // namespace cleave
