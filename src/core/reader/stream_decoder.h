// What a stream reads, and what decodes it. Knows nothing about CSV.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/unfilled_buffer.h"
#include "cleave/cancel.h"
#include "cleave/compression.h"
#include "cleave/encoding.h"
#include "core/reader/source.h"

namespace cleave {

// Reads a source once, from where reading begins. For one thread at a time.
class SourceReader {
public:
    using Observer = std::function<void(std::span<const std::uint8_t>)>;

    // How much is read at once: so little that it is still in the first-level caches when it is scanned and written.
    static constexpr std::size_t kReadSize = std::size_t{64} << 10;

    // `source` must outlive the reader and must not be moved; `cancellation`, if any, must outlive it too.
    SourceReader(const Source& source, const Cancellation* cancellation)
        : source_(source), cancellation_(cancellation) {}

    const Source& source() const noexcept { return source_; }
    std::uint64_t consumed() const noexcept { return consumed_; }  // bytes read from the source
    void set_cancellation(const Cancellation* cancellation) noexcept { cancellation_ = cancellation; }
    // From now on, it sees each byte as it is read.
    void set_observer(Observer observer) { observer_ = std::move(observer); }

    // The first bytes: at least `needed`, unless there are fewer, and at most kReadSize. They are in buffer(). Call it
    // before read(), and again if it takes more of them.
    std::span<const std::uint8_t> head(std::size_t needed);

    // Fills at least a byte of `into`, unless the source has ended. Returns the number of bytes. Throws SystemError,
    // Cancelled and what Source::read_at() throws.
    std::size_t read(std::span<std::uint8_t> into);

    // Memory for what is read.
    UnfilledBuffer& buffer() noexcept { return buffer_; }

private:
    const Source& source_;
    const Cancellation* cancellation_;
    Observer observer_;  // may be empty
    UnfilledBuffer buffer_;
    std::size_t head_size_ = 0;
    std::uint64_t consumed_ = 0;
    bool is_at_end_ = false;  // the source has ended; reading a terminal again would wait for another Ctrl-D
};

// For one thread at a time.
class StreamDecoder {
public:
    StreamDecoder() = default;
    StreamDecoder(const StreamDecoder&) = delete;
    StreamDecoder& operator=(const StreamDecoder&) = delete;
    virtual ~StreamDecoder() = default;

    // The next bytes; none at the end. Valid until the next call. Throws InputError for data that is corrupt or ends
    // too early, and what SourceReader::read() throws.
    virtual std::span<const std::uint8_t> next() = 0;

    // How many threads may decode.
    virtual void set_threads(unsigned threads) noexcept = 0;

    // What the text is converted from; Encoding::kAuto before the first next(), if it is to be found.
    virtual Encoding encoding() const noexcept { return Encoding::kBytes; }

    // Of the file in a zip archive, if its name has one that can be found.
    virtual const std::string& inner_suffix() const noexcept = 0;
};

class DecodeObserver;

// What text is converted from, and whether bytes that are not valid become bytes that are not UTF-8 rather than an
// error.
struct Conversion {
    Encoding encoding = Encoding::kBytes;
    bool keeps_invalid = false;
};

// What decodes the bytes of `reader`, of which head() has been called; null if they are neither compressed nor to be
// converted. `reader` must outlive it. `observer`, which may be null, sees what is decoded of gzip.
std::unique_ptr<StreamDecoder> make_stream_decoder(SourceReader& reader, Compression format, Conversion conversion,
                                                   std::shared_ptr<DecodeObserver> observer);

}  // namespace cleave
