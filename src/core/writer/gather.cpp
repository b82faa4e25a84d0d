#include "core/writer/gather.h"

#include <algorithm>
#include <cstring>

namespace cleave {
namespace {

constexpr std::size_t kBufferSize = std::size_t{256} << 10;

// Parts of at least this size are written without the buffer.
constexpr std::uint64_t kLargePart = std::uint64_t{64} << 10;

// How many parts ahead to prefetch.
constexpr std::size_t kAhead = 16;

}  // namespace

void Gatherer::write(std::span<const BlobRange> parts, std::uint64_t header_size, PieceOutput& output) {
    uncounted_ = header_size;
    if (cancellation_ != nullptr) cancellation_->throw_if_requested();
    buffer_.reserve(kBufferSize);
    const auto bytes = blob_.mapped(0, blob_.size());
    for (std::size_t i = 0; i < parts.size();) {
        if (!bytes.empty() && i + kAhead < parts.size()) {
            const std::uint8_t* const ahead = bytes.data() + parts[i + kAhead].offset;
            __builtin_prefetch(ahead);
            __builtin_prefetch(ahead + 64);
        }
        BlobRange part = parts[i++];
        while (i < parts.size() && parts[i].offset == part.offset + part.size) part.size += parts[i++].size;
        if (part.size >= kLargePart) {
            flush(output);
            for_each_part(blob_, part, cancellation_, [&](std::span<const std::uint8_t> large) { put(large, output); });
            continue;
        }
        if (part.size > kBufferSize - buffer_.size()) flush(output);
        const auto source = bytes.empty() ? blob_.lend(part.offset, static_cast<std::size_t>(part.size), lent_)
                                          : bytes.subspan(part.offset, part.size);
        buffer_.insert(buffer_.end(), source.begin(), source.end());
    }
    flush(output);
}

void Gatherer::put(std::span<const std::uint8_t> bytes, PieceOutput& output) {
    output.write(bytes);
    const std::uint64_t of_header = std::min<std::uint64_t>(uncounted_, bytes.size());
    uncounted_ -= of_header;
    if (meter_ != nullptr) meter_->written += bytes.size() - of_header;
}

void Gatherer::flush(PieceOutput& output) {
    if (buffer_.empty()) return;
    put(buffer_, output);
    buffer_.clear();
}

}  // namespace cleave
