#include "features/compressed/decoded_stream.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cleave/error.h"
#include "core/reader/stream_decoder.h"
#include "features/compressed/inflate/parallel_gzip.h"
#include "features/compressed/parallel_decoder.h"
#include "features/compressed/text_decoder.h"
#include "features/compressed/zip_records.h"

namespace cleave {
namespace {

// Decoding on several threads takes more work in total, most of it for what is decoded: 1.4 times as much for a file
// that shrinks to 0.38, and 2.5 times for one that shrinks to 0.07. It is not worth it if decoded bytes are this many
// times the compressed ones.
constexpr unsigned kManyThreads = 4;
constexpr double kHighRatio = 6;   // with fewer threads
constexpr double kHugeRatio = 40;  // with any number: writing the decoded bytes takes most of the time

// Compressed bytes that are decoded in less time than it takes to start threads.
constexpr std::size_t kLeastForThreads = std::size_t{512} << 10;

// The calling thread reads and scans what the others decode, and could not keep up with more.
constexpr unsigned kMostThreads = 64;

std::string too_short(Compression format) {
    return std::string(compression_name(format)) + " data that ends too early";
}

[[noreturn]] void throw_at(const InputError& error, std::uint64_t compressed_byte) {
    throw InputError(std::string(error.what()) + " (compressed byte " + std::to_string(compressed_byte) + ")");
}

// Decompresses a stream.
class Decompressed final : public StreamDecoder {
public:
    Decompressed(SourceReader& reader, Compression format, std::shared_ptr<DecodeObserver> observer)
        : reader_(reader),
          format_(format),
          observer_(std::move(observer)),
          following_(reader.source().is_file() ? Following::kReady : Following::kLater),
          decoder_(format) {
        if (format == Compression::kZip) find_suffix();
        if (format == Compression::kZip && reader.source().is_file()) refuse_several_files(reader.source());
        compressed_ = reader.head(0);
    }

    std::span<const std::uint8_t> next() override;

    void set_threads(unsigned threads) noexcept override {
        threads_ = threads;
        decoder_.set_threads(threads);
    }

    const std::string& inner_suffix() const noexcept override { return inner_suffix_; }

private:
    void find_suffix() {
        std::size_t needed = 0;
        auto head = reader_.head(0);
        do {
            inner_suffix_ = suffix_of_first_file(head, needed);
        } while (head.size() < needed && (head = reader_.head(needed)).size() >= needed);
    }

    void observe(std::span<const std::uint8_t> bytes, std::span<const PassedPlace> places, std::uint64_t first);
    void use_threads_for_gzip();
    std::span<const std::uint8_t> read_gzip();
    bool read_compressed();

    SourceReader& reader_;
    const Compression format_;
    std::shared_ptr<DecodeObserver> observer_;  // of gzip; may be null
    unsigned threads_ = 1;
    std::string inner_suffix_;
    std::span<const std::uint8_t> compressed_;  // bytes that the decoder has yet to take
    Following following_;                       // what comes after them
    ParallelDecoder decoder_;
    std::uint64_t decoded_ = 0;  // bytes returned by the decoder
    std::uint64_t gzip_at_ = 0;  // the compressed byte at which the next one takes over
    std::unique_ptr<ParallelGzip> gzip_;
};

std::span<const std::uint8_t> Decompressed::next() {
    if (!gzip_) use_threads_for_gzip();
    if (gzip_) return read_gzip();
    try {
        for (;;) {
            const std::uint64_t first = reader_.consumed() - compressed_.size();
            const auto bytes = decoder_.decode(compressed_, following_);
            decoded_ += bytes.size();
            observe(bytes, decoder_.places(), first);
            if (!bytes.empty()) return bytes;
            if (read_compressed()) continue;
            // The decoder may have been waiting for more bytes before decoding those that it has.
            if (std::exchange(following_, Following::kNothing) != Following::kNothing && !compressed_.empty()) continue;
            if (const auto rest = decoder_.finish(); !rest.empty()) return rest;
            if (decoder_.is_whole()) return {};
            compressed_ = {};
            throw InputError(too_short(format_));
        }
    } catch (const InputError& error) {
        if (!decoder_.has_place()) throw;
        throw_at(error, reader_.consumed() - compressed_.size());
    }
}

// The bits of places count from the byte `first`.
void Decompressed::observe(std::span<const std::uint8_t> bytes, std::span<const PassedPlace> places,
                           std::uint64_t first) {
    if (!observer_) return;
    std::vector<PassedPlace> moved(places.begin(), places.end());
    for (PassedPlace& place : moved) place.bit += first * 8;
    observer_->decoded(bytes, moved);
}

// Gives the stream to several threads if they would be faster. Nothing is known of a pipe: not how fast bytes arrive,
// and not whether more will.
void Decompressed::use_threads_for_gzip() {
    if (!decoder_.reads_gzip_in_order() || following_ != Following::kReady || threads_ < 2) return;
    const auto taken = static_cast<double>(reader_.consumed() - compressed_.size());
    const double most = threads_ < kManyThreads ? kHighRatio : kHugeRatio;
    if (most * taken < static_cast<double>(decoded_)) return;
    if (reader_.source().size() < reader_.source().offset + kLeastForThreads) return;
    gzip_at_ = reader_.consumed() - compressed_.size();
    gzip_ = std::make_unique<ParallelGzip>(
        decoder_.take_reader(),
        [this](std::span<std::uint8_t> into) {
            if (compressed_.empty()) return reader_.read(into);
            const std::size_t size = std::min(into.size(), compressed_.size());
            std::copy_n(compressed_.begin(), size, into.begin());
            compressed_ = compressed_.subspan(size);
            return size;
        },
        std::min(threads_, kMostThreads));
}

std::span<const std::uint8_t> Decompressed::read_gzip() {
    try {
        const auto bytes = gzip_->read();
        observe(bytes, gzip_->places(), gzip_at_);
        if (bytes.empty() && !gzip_->is_whole()) throw InputError(too_short(format_));
        return bytes;
    } catch (const InputError& error) {
        throw_at(error, gzip_at_ + gzip_->place());
    }
}

// Appends to the compressed bytes. Returns false at the end of the source.
bool Decompressed::read_compressed() {
    const std::size_t rest = compressed_.size();
    // Doubling the buffer keeps the cost of moving bytes low, however many the decoder needs at once.
    const std::size_t size = std::max(rest, decoder_.read_size());
    const auto buffer = reader_.buffer().grow(rest + size, compressed_);
    compressed_ = buffer.first(rest);
    const std::size_t got = reader_.read(buffer.subspan(rest, size));
    compressed_ = buffer.first(rest + got);
    return got > 0;
}

// Converts a stream to UTF-8, after it was decompressed if it needs that.
class Converted final : public StreamDecoder {
public:
    Converted(SourceReader& reader, Conversion conversion, std::unique_ptr<Decompressed> before)
        : reader_(reader), before_(std::move(before)), conversion_(conversion) {}

    std::span<const std::uint8_t> next() override {
        if (!std::exchange(has_begun_, true)) begin();
        for (;;) {
            const auto bytes = take();
            if (bytes.empty() && decoder_) decoder_->finish();
            if (bytes.empty()) return {};
            auto text = decoder_ ? decoder_->decode(bytes) : bytes;
            text = text.subspan(std::exchange(left_out_, 0));
            if (!text.empty()) return text;
        }
    }

    Encoding encoding() const noexcept override { return conversion_.encoding; }

    void set_threads(unsigned threads) noexcept override {
        if (before_) before_->set_threads(threads);
    }

    const std::string& inner_suffix() const noexcept override { return before_ ? before_->inner_suffix() : none_; }

private:
    // Reads the beginning, and finds out what it is.
    void begin() {
        if (!before_) {
            const auto head = reader_.head(0);
            sample_.assign(head.begin(), head.end());
        }
        const Encoding wanted = conversion_.encoding;
        bool is_whole = false;
        constexpr std::size_t kLongestMark = 4;
        while (sample_.size() < (wanted == Encoding::kAuto ? kEncodingSample : kLongestMark) && !is_whole) {
            const auto bytes = read();
            sample_.insert(sample_.end(), bytes.begin(), bytes.end());
            is_whole = bytes.empty();
        }
        waiting_ = sample_;
        conversion_.encoding = settle_encoding(wanted, sample_, is_whole);
        constexpr std::uint8_t kMark[] = {0xEF, 0xBB, 0xBF};
        const bool has_mark =
            (wanted == Encoding::kUtf16 && !sample_.empty()) ||
            (wanted == Encoding::kUtf8Sig && std::ranges::mismatch(sample_, kMark).in2 == std::end(kMark));
        if (has_mark) left_out_ = std::size(kMark);
        decoder_ = make_text_decoder(conversion_.encoding, conversion_.keeps_invalid);
    }

    // The next bytes, not too many at once.
    std::span<const std::uint8_t> take() {
        if (waiting_.empty()) return read();
        const auto bytes = waiting_.first(std::min(waiting_.size(), SourceReader::kReadSize));
        waiting_ = waiting_.subspan(bytes.size());
        return bytes;
    }

    std::span<const std::uint8_t> read() {
        if (before_) return before_->next();
        const auto buffer = reader_.buffer().grow(SourceReader::kReadSize);
        return buffer.first(reader_.read(buffer));
    }

    SourceReader& reader_;
    std::unique_ptr<Decompressed> before_;  // may be null
    Conversion conversion_;
    std::vector<std::uint8_t> sample_;       // the beginning
    std::span<const std::uint8_t> waiting_;  // what is left of it
    std::size_t left_out_ = 0;               // bytes of the text
    bool has_begun_ = false;
    std::unique_ptr<TextDecoder> decoder_;  // null: the text is passed on as it is
    const std::string none_;
};

}  // namespace

std::unique_ptr<StreamDecoder> make_stream_decoder(SourceReader& reader, Compression format, Conversion conversion,
                                                   std::shared_ptr<DecodeObserver> observer) {
    std::unique_ptr<Decompressed> decompressed;
    if (format != Compression::kNone) {
        decompressed = std::make_unique<Decompressed>(reader, format, std::move(observer));
    }
    if (conversion.encoding == Encoding::kBytes) return decompressed;
    return std::make_unique<Converted>(reader, conversion, std::move(decompressed));
}

}  // namespace cleave
