// A file or pipe that is read in order, decoded if need be. Knows nothing about CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cleave/cancel.h"
#include "cleave/compression.h"
#include "cleave/encoding.h"
#include "cleave/stream.h"
#include "core/reader/source.h"
#include "core/reader/stream_decoder.h"

namespace cleave {

class FileStream final : public Stream {
public:
    // As for SourceReader and make_stream_decoder().
    FileStream(const Source& source, const Cancellation* cancellation, Encoding encoding,
               std::shared_ptr<DecodeObserver> observer = nullptr)
        : reader_(source, cancellation), conversion_{encoding}, observer_(std::move(observer)) {}

    std::span<const std::uint8_t> peek(std::size_t size) override;
    std::span<const std::uint8_t> read() override;
    std::uint64_t consumed() const noexcept override { return reader_.consumed() + other_; }
    // Counts bytes that a filter has read elsewhere.
    void count_other(std::uint64_t size) noexcept { other_ += size; }

    // Known once peek(), read() or find_compression() has been called.
    Compression compression() const noexcept { return compression_; }
    void find_compression();
    // As given; Encoding::kAuto and kUtf16 become what was found once peek() or read() has been called.
    Encoding encoding() const noexcept { return decoder_ ? decoder_->encoding() : conversion_.encoding; }
    // See Conversion. Call it before anything is read.
    void keep_invalid() noexcept { conversion_.keeps_invalid = true; }
    // See StreamDecoder; known when the compression is.
    std::string inner_suffix() const { return decoder_ ? decoder_->inner_suffix() : ""; }
    // Whether find_compression() has read a byte of a stream that is not decoded.
    bool has_bytes() const noexcept { return !waiting_.empty(); }

    // Throws ArgumentError, which names `call`, if read() has been called.
    void require_unread(const char* call) const;
    void set_cancellation(const Cancellation* cancellation) noexcept { reader_.set_cancellation(cancellation); }
    void set_observer(SourceReader::Observer observer) { reader_.set_observer(std::move(observer)); }
    // From now on, peek() and read() return what `filter` does, which reads with the reader that this returns. Both
    // return the next bytes, or none at the end. Throws what find_compression() throws.
    using Reader = std::function<std::span<const std::uint8_t>()>;
    Reader set_filter(Reader filter);
    // See Input::set_threads().
    void set_threads(unsigned threads) noexcept;

private:
    std::span<const std::uint8_t> read_next();
    std::span<const std::uint8_t> read_unfiltered();

    SourceReader reader_;
    Conversion conversion_;
    std::shared_ptr<DecodeObserver> observer_;
    unsigned threads_ = 1;
    std::uint64_t other_ = 0;
    std::vector<std::uint8_t> gathered_;     // by a peek() that needed several reads
    std::span<const std::uint8_t> waiting_;  // bytes that read() has yet to return
    Reader filter_;                          // may be empty
    bool was_read_ = false;                  // read() has been called
    bool is_known_ = false;                  // find_compression() was called; it sets the members below
    Compression compression_ = Compression::kNone;
    std::unique_ptr<StreamDecoder> decoder_;  // may be null
};

}  // namespace cleave
