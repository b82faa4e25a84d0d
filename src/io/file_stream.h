// A file or pipe that is read in order, decoded if it is compressed, and converted if it is UTF-16. Knows nothing about
// CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/content_hash.h"
#include "base/unfilled_buffer.h"
#include "cleave/cancel.h"
#include "cleave/compression.h"
#include "cleave/encoding.h"
#include "cleave/stream.h"
#include "inflate/parallel_gzip.h"
#include "io/parallel_decoder.h"
#include "io/source.h"
#include "io/utf16_decoder.h"

namespace cleave {

// Sees what is decoded of a gzip stream.
class DecodeObserver {
public:
    virtual ~DecodeObserver() = default;
    // The next bytes, perhaps none, and the places among them; their bits count from the beginning of the stream.
    virtual void decoded(std::span<const std::uint8_t> bytes, std::span<const PassedPlace> places) = 0;
};

class FileStream final : public Stream {
public:
    // `source` must outlive the stream and must not be moved; `cancellation`, if any, must outlive it too.
    FileStream(const Source& source, const Cancellation* cancellation, Encoding encoding,
               std::shared_ptr<DecodeObserver> observer = nullptr)
        : source_(source), cancellation_(cancellation), observer_(std::move(observer)) {
        if (encoding != Encoding::kBytes) converter_.emplace(encoding);
    }

    std::span<const std::uint8_t> peek(std::size_t size) override;
    std::span<const std::uint8_t> read() override;
    std::uint64_t consumed() const noexcept override { return consumed_; }

    // Known once peek(), read() or find_compression() has been called.
    Compression compression() const noexcept { return compression_; }
    void find_compression();
    // Of the file in a zip archive, if its name has one that can be found; known when the compression is.
    const std::string& inner_suffix() const noexcept { return inner_suffix_; }
    // Whether find_compression() has read a byte.
    bool has_bytes() const noexcept { return !waiting_.empty(); }

    // Throws ArgumentError, which names `call`, if read() has been called.
    void require_unread(const char* call) const;
    void set_cancellation(const Cancellation* cancellation) noexcept { cancellation_ = cancellation; }
    // From now on, adds each byte to the hash as it is read from the source.
    void set_hash(std::shared_ptr<ContentHash> hash) noexcept { hash_ = std::move(hash); }
    // See Input::set_threads().
    void set_threads(unsigned threads) noexcept;

private:
    std::size_t read_raw(std::span<std::uint8_t> into);
    std::span<const std::uint8_t> read_next();
    std::span<const std::uint8_t> read_plain();
    std::span<const std::uint8_t> decode_next();
    void observe(std::span<const std::uint8_t> bytes, std::span<const PassedPlace> places, std::uint64_t first);
    void use_threads_for_gzip();
    std::span<const std::uint8_t> read_gzip();
    std::span<const std::uint8_t> convert_next();
    bool read_compressed();

    const Source& source_;
    const Cancellation* cancellation_;
    std::shared_ptr<DecodeObserver> observer_;  // of gzip; may be null
    std::shared_ptr<ContentHash> hash_;         // may be null
    unsigned threads_ = 1;
    UnfilledBuffer buffer_;                  // read from the source
    std::vector<std::uint8_t> gathered_;     // by a peek() that needed several reads
    std::span<const std::uint8_t> waiting_;  // bytes that read() has yet to return
    std::uint64_t consumed_ = 0;             // bytes read from the source
    bool is_at_end_ = false;  // the source has ended; reading a terminal again would wait for another Ctrl-D
    bool was_read_ = false;   // read() has been called
    bool is_known_ = false;   // find_compression() was called; it sets the members below
    Compression compression_ = Compression::kNone;
    std::string inner_suffix_;
    std::optional<ParallelDecoder> decoder_;
    std::span<const std::uint8_t> compressed_;   // bytes that the decoder has yet to take
    Following following_ = Following::kNothing;  // what comes after them
    std::uint64_t decoded_ = 0;                  // bytes returned by the decoder
    std::uint64_t gzip_at_ = 0;                  // the compressed byte at which the next one takes over
    std::unique_ptr<ParallelGzip> gzip_;
    std::optional<Utf16Decoder> converter_;  // of what has been read and decoded
};

}  // namespace cleave
