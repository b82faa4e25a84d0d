#include "core/reader/file_stream.h"

#include <algorithm>

#include "cleave/error.h"
#include "core/reader/fd.h"

namespace cleave {

std::span<const std::uint8_t> SourceReader::head(std::size_t needed) {
    const auto buffer = buffer_.grow(kReadSize);
    while (head_size_ < std::min(needed, kReadSize)) {
        const std::size_t got = read(buffer.subspan(head_size_));
        if (got == 0) break;
        head_size_ += got;
    }
    return buffer.first(head_size_);
}

std::size_t SourceReader::read(std::span<std::uint8_t> into) {
    if (is_at_end_) return 0;
    const std::size_t size = source_.remote ? source_.read_at(consumed_, into)
                                            : read_some(source_.file.get(), into, cancellation_, source_.name);
    is_at_end_ = size == 0;
    consumed_ += size;
    if (observer_) observer_(into.first(size));
    return size;
}

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
    const auto bytes = waiting_.first(std::min(waiting_.size(), SourceReader::kReadSize));
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
    const auto head = reader_.head(kMagicSize);
    compression_ = compression_of(head);
    decoder_ = make_stream_decoder(reader_, compression_, conversion_, std::move(observer_));
    if (decoder_) {
        decoder_->set_threads(threads_);
    } else {
        waiting_ = head;
    }
}

// The next bytes, as read() returns them. Asks for a full read, because a pipe in packet mode drops the bytes that do
// not fit.
std::span<const std::uint8_t> FileStream::read_next() { return filter_ ? filter_() : read_unfiltered(); }

std::span<const std::uint8_t> FileStream::read_unfiltered() {
    if (decoder_) return decoder_->next();
    const auto buffer = reader_.buffer().grow(SourceReader::kReadSize);
    return buffer.first(reader_.read(buffer));
}

FileStream::Reader FileStream::set_filter(Reader filter) {
    find_compression();
    const auto peeked = std::make_shared<std::vector<std::uint8_t>>(waiting_.begin(), waiting_.end());
    waiting_ = {};
    gathered_.clear();
    Reader before = std::exchange(filter_, std::move(filter));
    if (!before) before = [this] { return read_unfiltered(); };
    return [peeked, before = std::move(before), is_new = !peeked->empty()]() mutable {
        return std::exchange(is_new, false) ? std::span<const std::uint8_t>(*peeked) : before();
    };
}

}  // namespace cleave
