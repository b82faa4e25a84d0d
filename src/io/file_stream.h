// A file or a pipe, read in order, and decoded if it is compressed. Knows no CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cleave/cancel.h"
#include "cleave/compression.h"
#include "cleave/stream.h"
#include "io/decoder.h"
#include "io/source.h"

namespace cleave {

class FileStream final : public Stream {
public:
    // `source` must outlive the stream and not be moved; `cancellation`, if any, must outlive it too.
    FileStream(const Source& source, const Cancellation* cancellation) : source_(source), cancellation_(cancellation) {}

    std::span<const std::uint8_t> peek(std::size_t size) override;
    std::span<const std::uint8_t> read() override;
    std::uint64_t consumed() const noexcept override { return consumed_; }

    // Known from the first peek(), read() or find_compression() on.
    Compression compression() const noexcept { return compression_; }
    void find_compression();
    // Whether find_compression() has read a byte.
    bool has_bytes() const noexcept { return peeked_ > 0; }

    // Throws std::invalid_argument, which names the call, after a read().
    void require_unread(const char* call) const;
    void set_cancellation(const Cancellation* cancellation) noexcept { cancellation_ = cancellation; }

private:
    std::size_t read_raw(std::span<std::uint8_t> into);
    std::size_t read_into(std::span<std::uint8_t> into) { return decoder_ ? decode(into) : read_raw(into); }
    std::size_t decode(std::span<std::uint8_t> into);

    const Source& source_;
    const Cancellation* cancellation_;
    std::vector<std::uint8_t> buffer_;
    std::size_t peeked_ = 0;      // bytes at the front of buffer_ that read() has not returned yet
    std::uint64_t consumed_ = 0;  // bytes that were read of the source
    bool was_read_ = false;       // read() has returned bytes
    bool is_known_ = false;       // find_compression() was called; it sets these:
    Compression compression_ = Compression::kNone;
    std::unique_ptr<Decoder> decoder_;
    std::vector<std::uint8_t> raw_buffer_;     // compressed bytes
    std::span<const std::uint8_t> raw_bytes_;  // those of them that the decoder has not taken yet
};

}  // namespace cleave
