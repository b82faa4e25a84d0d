#include "job/stream_sink.h"

#include <utility>

namespace cleave {

void StreamSink::header(std::span<const std::uint8_t> bytes) {
    header_size_ += bytes.size();
    if (mode_ != HeaderMode::kDrop) header_.append(bytes);
}

void StreamSink::begin(const Piece& piece) {
    end_last();
    feed_.begin(piece, namer_.name(piece));
    if (header_size_in(mode_, piece.number, header_.size()) > 0) {
        header_.for_each_part([this](std::span<const std::uint8_t> bytes) { feed_.write(bytes); });
    }
    if (mode_ == HeaderMode::kFirst) header_.clear();
}

void StreamSink::body(std::span<const std::uint8_t> bytes) {
    feed_.write(bytes);
    if (meter_ != nullptr) meter_->written += bytes.size();
}

void StreamSink::end(const Piece& piece) {
    ended_ = piece;
    reports_.cut(piece);
}

void StreamSink::end_last() {
    if (const auto piece = std::exchange(ended_, std::nullopt)) feed_.end(*piece);
}

}  // namespace cleave
