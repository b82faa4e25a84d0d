// Writes compressed streams, with zlib and libzstd. Knows nothing about descriptors.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "cleave/compression.h"

namespace cleave {

class Cancellation;
class Helpers;

// One stream: a gzip member, or a zstd frame with a checksum. The same bytes always produce the same stream, however
// they are split across calls and whichever threads help. For one thread at a time.
class Encoder {
public:
    using Take = std::function<void(std::span<const std::uint8_t>)>;

    Encoder() = default;
    Encoder(const Encoder&) = delete;
    Encoder& operator=(const Encoder&) = delete;
    virtual ~Encoder() = default;

    // Calls `take` with the bytes of the stream that are ready. Throws whatever `take` throws, std::bad_alloc and, for
    // gzip, Cancelled.
    virtual void encode(std::span<const std::uint8_t> bytes, const Take& take) = 0;
    // Ends the stream: calls `take` with its remaining bytes, and throws like encode(). encode() must not be called
    // afterwards.
    virtual void finish(const Take& take) = 0;
};

// `wanted.format` must be writable. For gzip, `helpers` help the encoding thread, which counts as one of their
// workers. `helpers` and `cancellation` must outlive the encoder. A zstd frame is compressed by one thread. Throws
// std::bad_alloc.
std::unique_ptr<Encoder> make_encoder(const CompressionOptions& wanted, Helpers* helpers = nullptr,
                                      const Cancellation* cancellation = nullptr);

}  // namespace cleave
