#include "io/file_stream.h"

#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <utility>

#include "cleave/error.h"
#include "io/fd.h"
#include "io/zip_directory.h"
#include "io/zip_records.h"

namespace cleave {
namespace {

// The size of one read: small enough that the bytes are still in the first-level caches when they are scanned and
// written.
constexpr std::size_t kReadSize = std::size_t{64} << 10;

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

}  // namespace

std::span<const std::uint8_t> FileStream::peek(std::size_t size) {
    require_unread("peek()");
    find_compression();
    while (waiting_.size() < size) {
        if (!waiting_.empty() && gathered_.empty()) {
            gathered_.assign(waiting_.begin(), waiting_.end());  // before the next read overwrites them
            waiting_ = gathered_;
        }
        const auto bytes = read_next();
        if (bytes.empty()) break;
        if (waiting_.empty()) {
            waiting_ = bytes;
        } else {
            gathered_.insert(gathered_.end(), bytes.begin(), bytes.end());
            waiting_ = gathered_;
        }
    }
    return waiting_.first(std::min(size, waiting_.size()));
}

std::span<const std::uint8_t> FileStream::read() {
    find_compression();
    if (waiting_.empty()) waiting_ = read_next();
    was_read_ = true;
    const auto bytes = waiting_.first(std::min(waiting_.size(), kReadSize));
    waiting_ = waiting_.subspan(bytes.size());
    return bytes;
}

void FileStream::set_threads(unsigned threads) noexcept {
    threads_ = threads;
    if (decoder_) decoder_->set_threads(threads);
}

void FileStream::require_unread(const char* call) const {
    if (was_read_) throw ArgumentError(std::string(call) + " after read(): a stream is read once");
}

// Finds the format from the start of the stream. Only the first call has an effect.
void FileStream::find_compression() {
    if (std::exchange(is_known_, true)) return;
    const auto buffer = buffer_.grow(kReadSize);
    std::size_t size = 0;
    const auto read_to = [&](std::size_t needed) {
        while (size < std::min(needed, kReadSize)) {
            const std::size_t got = read_raw(buffer.subspan(size));
            if (got == 0) break;
            size += got;
        }
        return size >= needed;
    };
    read_to(kMagicSize);
    compression_ = compression_of(buffer.first(size));
    if (compression_ == Compression::kZip) {
        std::size_t needed = 0;
        do {
            inner_suffix_ = suffix_of_first_file(buffer.first(size), needed);
        } while (size < needed && read_to(needed));
    }
    const auto bytes = buffer.first(size);
    if (compression_ == Compression::kNone) {
        waiting_ = converter_ ? converter_->decode(bytes) : bytes;
        return;
    }
    if (compression_ == Compression::kZip && source_.is_file()) refuse_several_files(source_);
    decoder_.emplace(compression_);
    decoder_->set_threads(threads_);
    compressed_ = bytes;
    following_ = source_.is_file() ? Following::kReady : Following::kLater;
}

std::size_t FileStream::read_raw(std::span<std::uint8_t> into) {
    if (is_at_end_) return 0;
    const std::size_t size = source_.remote ? source_.read_at(consumed_, into)
                                            : read_some(source_.file.get(), into, cancellation_, source_.name);
    is_at_end_ = size == 0;
    consumed_ += size;
    if (hash_) hash_->add(into.first(size));
    return size;
}

// The next bytes, as read() returns them.
std::span<const std::uint8_t> FileStream::read_next() { return converter_ ? convert_next() : read_plain(); }

std::span<const std::uint8_t> FileStream::convert_next() {
    for (;;) {
        const auto bytes = read_plain();
        if (bytes.empty()) {
            converter_->finish();
            return {};
        }
        if (const auto text = converter_->decode(bytes); !text.empty()) return text;
    }
}

// The next bytes, whether or not the stream is compressed. Asks for a full read, because a pipe in packet mode drops
// the bytes that do not fit.
std::span<const std::uint8_t> FileStream::read_plain() {
    if (decoder_) return decode_next();
    const auto buffer = buffer_.grow(kReadSize);
    return buffer.first(read_raw(buffer));
}

std::span<const std::uint8_t> FileStream::decode_next() {
    if (!gzip_) use_threads_for_gzip();
    if (gzip_) return read_gzip();
    try {
        for (;;) {
            const std::uint64_t first = consumed_ - compressed_.size();
            const auto bytes = decoder_->decode(compressed_, following_);
            decoded_ += bytes.size();
            observe(bytes, decoder_->places(), first);
            if (!bytes.empty()) return bytes;
            if (read_compressed()) continue;
            // The decoder may have been waiting for more bytes before decoding those that it has.
            if (std::exchange(following_, Following::kNothing) != Following::kNothing && !compressed_.empty()) continue;
            if (const auto rest = decoder_->finish(); !rest.empty()) return rest;
            if (decoder_->is_whole()) return {};
            compressed_ = {};
            throw InputError(too_short(compression_));
        }
    } catch (const InputError& error) {
        if (!decoder_->has_place()) throw;
        throw_at(error, consumed_ - compressed_.size());
    }
}

// The bits of places count from the byte `first`.
void FileStream::observe(std::span<const std::uint8_t> bytes, std::span<const PassedPlace> places,
                         std::uint64_t first) {
    if (!observer_) return;
    std::vector<PassedPlace> moved(places.begin(), places.end());
    for (PassedPlace& place : moved) place.bit += first * 8;
    observer_->decoded(bytes, moved);
}

// Gives the stream to several threads if they would be faster. Nothing is known of a pipe: not how fast bytes arrive,
// and not whether more will.
void FileStream::use_threads_for_gzip() {
    if (!decoder_->reads_gzip_in_order() || following_ != Following::kReady || threads_ < 2) return;
    const auto taken = static_cast<double>(consumed_ - compressed_.size());
    const double most = threads_ < kManyThreads ? kHighRatio : kHugeRatio;
    if (most * taken < static_cast<double>(decoded_)) return;
    if (source_.size() < source_.offset + kLeastForThreads) return;
    gzip_at_ = consumed_ - compressed_.size();
    gzip_ = std::make_unique<ParallelGzip>(
        decoder_->take_reader(),
        [this](std::span<std::uint8_t> into) {
            if (compressed_.empty()) return read_raw(into);
            const std::size_t size = std::min(into.size(), compressed_.size());
            std::copy_n(compressed_.begin(), size, into.begin());
            compressed_ = compressed_.subspan(size);
            return size;
        },
        std::min(threads_, kMostThreads));
}

std::span<const std::uint8_t> FileStream::read_gzip() {
    try {
        const auto bytes = gzip_->read();
        observe(bytes, gzip_->places(), gzip_at_);
        if (bytes.empty() && !gzip_->is_whole()) throw InputError(too_short(compression_));
        return bytes;
    } catch (const InputError& error) {
        throw_at(error, gzip_at_ + gzip_->place());
    }
}

// Appends to the compressed bytes. Returns false at the end of the source.
bool FileStream::read_compressed() {
    const std::size_t rest = compressed_.size();
    // Doubling the buffer keeps the cost of moving bytes low, however many the decoder needs at once.
    const std::size_t size = std::max(rest, decoder_->read_size());
    const auto buffer = buffer_.grow(rest + size, compressed_);
    compressed_ = buffer.first(rest);
    const std::size_t got = read_raw(buffer.subspan(rest, size));
    compressed_ = buffer.first(rest + got);
    return got > 0;
}

}  // namespace cleave
