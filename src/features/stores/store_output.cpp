#include "features/stores/store_output.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cleave/error.h"
#include "core/reader/copy.h"
#include "core/reader/remote_file.h"

namespace cleave {

StoreCopies::StoreCopies(const Input& input) : file_(input.is_stream() ? BlobBacking{} : input.blob().backing()) {}

bool StoreCopies::copy(StoreUpload& upload, std::uint32_t number, BlobRange range) {
    const auto copied = [&] { return upload.copy(number, *file_.remote, file_.offset + range.offset, range.size); };
    if (state_ == State::kWork) return copied();
    const MutexLock lock(first_);
    if (state_ == State::kRefused) return false;
    const bool is_copied = copied();
    state_ = is_copied ? State::kWork : State::kRefused;
    return is_copied;
}

void StoreCopies::check() const {
    if (state_ != State::kWork) return;
    std::array<std::uint8_t, 1> last{};  // asks the store: only the first bytes are known from the answer that found it
    file_.remote->origin().read(file_.remote->size() - 1, last);
}

StoreOutput::StoreOutput(RequestQueue& queue, ObjectUpload& object, const Input& input, StoreCopies& copies,
                         const CompressionOptions& compression, Helpers& helpers, const Cancellation* cancellation)
    : queue_(queue), object_(object), input_(input), copies_(copies), cancellation_(cancellation) {
    if (compression.format != Compression::kNone) encoder_ = make_encoder(compression, &helpers, cancellation);
}

void StoreOutput::write(std::span<const std::uint8_t> bytes) {
    if (encoder_) {
        encoder_->encode(bytes, putter());
    } else {
        put(bytes);
    }
}

void StoreOutput::write_body(const Input& input, const Piece& piece, std::uint64_t header_size, Meter* meter) {
    if (encoder_ || !copies_.may_work()) {
        PieceOutput::write_body(input, piece, header_size, meter);
        return;
    }
    if (range_.size == 0 || range_.offset + range_.size != piece.start) {
        settle_range(false);
        range_ = {piece.start, 0};
        // The header and the body are one range of the input.
        const bool is_first = parts_ == 0 && piece.start == header_size && buffer_.size() == header_size;
        if (is_first) {
            range_ = {0, header_size};
            buffer_.clear();
        }
    }
    range_.size += piece.length;
    written_ += piece.length;
    if (meter != nullptr) meter->written += piece.length;
}

PieceResult StoreOutput::finish(const Piece&) {
    PieceResult result;
    if (encoder_) {
        encoder_->finish(putter());
        result.stored = written_;
    }
    settle_range(true);
    if (!buffer_.empty() || parts_ == 0) send_buffer();
    return result;
}

// One function for all uses, because each would have to be relocated when the command starts.
Encoder::Take StoreOutput::putter() {
    return [this](std::span<const std::uint8_t> bytes) { put(bytes); };
}

void StoreOutput::put(std::span<const std::uint8_t> bytes) {
    settle_range(false);
    written_ += bytes.size();
    while (!bytes.empty()) {
        const std::size_t size =
            std::min<std::uint64_t>(bytes.size(), part_size() - std::min<std::uint64_t>(part_size(), buffer_.size()));
        buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
        bytes = bytes.subspan(size);
        if (buffer_.size() >= part_size()) send_buffer();
    }
}

// Grows, because an object has a limited number of parts.
std::uint64_t StoreOutput::part_size() const noexcept { return kPartSize << (parts_ / 1000); }

std::uint32_t StoreOutput::next_part() {
    if (parts_ == StoreUpload::kMostParts) throw StoreError(shown_url(object_.url()) + ": the piece is too large");
    return ++parts_;
}

void StoreOutput::send_buffer() {
    const auto bytes = std::make_shared<std::vector<std::uint8_t>>(std::exchange(buffer_, {}));
    queue_.add(bytes->size(), [&object = object_, number = next_part(), bytes] { object.parts().put(number, *bytes); });
}

// The range in parts, or as many of its bytes as a part needs before the buffer; or back to the buffer.
void StoreOutput::settle_range(bool is_last) {
    if (range_.size == 0) return;
    if (buffer_.size() >= StoreUpload::kLeastPart) send_buffer();
    if (!buffer_.empty()) {
        const std::uint64_t missing = StoreUpload::kLeastPart - buffer_.size();
        if (range_.size >= missing || is_last) send_buffer_with(std::min(missing, range_.size));
    }
    if (buffer_.empty() && (range_.size >= StoreUpload::kLeastPart || is_last)) send_copies();
    read_range();
}

BlobRange StoreOutput::take_range(std::uint64_t size) {
    const BlobRange taken{range_.offset, size};
    range_ = {range_.offset + size, range_.size - size};
    return taken;
}

// Sends the buffer and the next `size` bytes of the range as a part.
void StoreOutput::send_buffer_with(std::uint64_t size) {
    const auto bytes = std::make_shared<std::vector<std::uint8_t>>(std::exchange(buffer_, {}));
    const BlobRange range = take_range(size);
    queue_.add(bytes->size() + size, [this_input = &input_, &object = object_, number = next_part(), bytes, range] {
        std::vector<std::uint8_t> buffer;  // in one request: a few MiB of an object, after which nothing is read
        const auto part = this_input->blob().lend(range.offset, static_cast<std::size_t>(range.size), buffer);
        bytes->insert(bytes->end(), part.begin(), part.end());
        object.parts().put(number, *bytes);
    });
}

// Has the store copy the range, in parts of equal size, until it refuses.
void StoreOutput::send_copies() {
    const std::uint64_t most = std::max(kCopySize, range_.size / (StoreUpload::kMostParts / 2));
    for (std::uint64_t left = (range_.size + most - 1) / most; left > 0 && copies_.may_work(); --left) {
        const BlobRange range{range_.offset, range_.size / left};
        if (!copies_.is_known()) {
            if (!copies_.copy(object_.parts(), parts_ + 1, range)) return;
            next_part();
        } else {
            queue_.add(0, [&object = object_, &copies = copies_, number = next_part(), range] {
                if (copies.copy(object.parts(), number, range)) return;
                throw StoreError(shown_url(object.url()) + ": the store does not copy any more");
            });
        }
        take_range(range.size);
    }
}

// What is left of the range becomes bytes that are sent.
void StoreOutput::read_range() {
    const BlobRange range = std::exchange(range_, {0, 0});
    if (range.size == 0) return;
    written_ -= range.size;
    for_each_part(input_.blob(), range, cancellation_, putter());
}

}  // namespace cleave
