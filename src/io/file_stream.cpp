#include "io/file_stream.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "cleave/error.h"
#include "io/fd.h"

namespace cleave {
namespace {

// Bytes asked for in one read: few enough to be in the first caches still when they are scanned and written out.
constexpr std::size_t kReadSize = std::size_t{64} << 10;

}  // namespace

std::span<const std::uint8_t> FileStream::peek(std::size_t size) {
    require_unread("peek()");
    find_compression();
    while (peeked_ < size) {
        // The buffer has room for a whole read: a pipe in packet mode drops the bytes that do not fit. The buffer never
        // shrinks here: an earlier and larger peek() may have filled it.
        buffer_.resize(std::max(buffer_.size(), peeked_ + kReadSize));
        const std::size_t got = read_into(std::span(buffer_).subspan(peeked_));
        if (got == 0) break;
        peeked_ += got;
    }
    return std::span(buffer_).first(std::min(size, peeked_));
}

std::span<const std::uint8_t> FileStream::read() {
    find_compression();
    std::size_t size = std::exchange(peeked_, 0);
    if (size == 0) {
        buffer_.resize(kReadSize);
        size = read_into(buffer_);
    }
    was_read_ = true;
    return std::span(buffer_).first(size);
}

void FileStream::require_unread(const char* call) const {
    if (was_read_) throw std::invalid_argument(std::string(call) + " after read(): a stream is read once");
}

// Looks at how the stream begins, once.
void FileStream::find_compression() {
    if (std::exchange(is_known_, true)) return;
    buffer_.resize(kReadSize);
    while (peeked_ < kMagicSize) {
        const std::size_t size = read_raw(std::span(buffer_).subspan(peeked_));
        if (size == 0) break;
        peeked_ += size;
    }
    compression_ = compression_of(std::span(buffer_).first(peeked_));
    if (compression_ == Compression::kNone) return;
    decoder_ = make_decoder(compression_);
    raw_buffer_.swap(buffer_);
    raw_bytes_ = std::span(raw_buffer_).first(std::exchange(peeked_, 0));
}

std::size_t FileStream::read_raw(std::span<std::uint8_t> into) {
    const std::size_t size = read_some(source_.file.get(), into, cancellation_, source_.name);
    consumed_ += size;
    return size;
}

// The next bytes of a compressed stream.
std::size_t FileStream::decode(std::span<std::uint8_t> into) {
    try {
        for (;;) {
            if (const std::size_t size = decoder_->decode(raw_bytes_, into); size > 0) return size;
            raw_buffer_.resize(kReadSize);
            raw_bytes_ = std::span(raw_buffer_).first(read_raw(raw_buffer_));
            if (!raw_bytes_.empty()) continue;
            if (decoder_->is_whole()) return 0;
            throw InputError(std::string(compression_name(compression_)) + " data that ends too early");
        }
    } catch (const InputError& error) {
        const std::uint64_t at = consumed_ - raw_bytes_.size();
        throw InputError(std::string(error.what()) + " (compressed byte " + std::to_string(at) + ")");
    }
}

}  // namespace cleave
