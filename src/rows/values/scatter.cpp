#include "rows/values/scatter.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "cleave/error.h"

namespace cleave {
namespace {

constexpr std::size_t kLeastRoom = std::size_t{4} << 10;
constexpr std::size_t kMostBuffer = std::size_t{256} << 10;

// How many bytes are lent at once.
constexpr std::uint64_t kLentSize = std::uint64_t{256} << 10;

// A part of at least this many bytes bypasses the buffer.
constexpr std::uint64_t kLarge = std::uint64_t{64} << 10;

std::size_t buffer_size_for(std::size_t places, std::size_t memory) {
    const std::size_t share = memory / std::max<std::size_t>(places, 1);
    return std::bit_floor(std::clamp(share, kLeastRoom, kMostBuffer));
}

}  // namespace

Scatterer::Scatterer(const Blob& blob, BlobRange range, std::span<const std::uint64_t> offsets, std::size_t memory,
                     Write write, const Cancellation* cancellation)
    : blob_(blob),
      rest_(range),
      write_(std::move(write)),
      cancellation_(cancellation),
      ahead_(blob, range.offset, range.offset + range.size),
      buffer_size_(buffer_size_for(offsets.size(), memory)),
      buffers_(std::make_unique_for_overwrite<std::uint8_t[]>(offsets.size() * buffer_size_)) {
    pending_.reserve(offsets.size());
    for (const std::uint64_t offset : offsets) pending_.push_back({offset, 0, room_at(offset)});
}

void Scatterer::take_parts(std::size_t to, Pending& pending, std::uint64_t size) {
    while (size > 0) {
        if (lent_.empty()) lend();
        const std::uint64_t part = std::min<std::uint64_t>(size, lent_.size());
        if (part >= kLarge) {
            flush(to, pending);
            write_(to, pending.offset, lent_.first(part));
            lent_ = lent_.subspan(part);
            pending.offset += part;
            pending.room = room_at(pending.offset);
            size -= part;
            continue;
        }
        const std::uint64_t fitting = std::min<std::uint64_t>(part, pending.room);
        append(to, pending, static_cast<std::size_t>(fitting));
        if (pending.room == 0) flush(to, pending);
        size -= fitting;
    }
}

void Scatterer::finish() {
    for (std::size_t to = 0; to < pending_.size(); ++to) flush(to, pending_[to]);
    blob_.throw_if_lost();
}

void Scatterer::lend() {
    if (cancellation_ != nullptr) cancellation_->throw_if_requested();
    blob_.throw_if_lost();
    if (rest_.size == 0) throw LogicError("scatter: more bytes taken than the range has");
    const std::uint64_t size = std::min(rest_.size, kLentSize);
    read_ += size;
    ahead_.wait_for(read_);
    lent_ = blob_.lend(rest_.offset, static_cast<std::size_t>(size), lent_copy_);
    rest_ = {rest_.offset + size, rest_.size - size};
}

void Scatterer::flush(std::size_t to, Pending& pending) {
    if (pending.size == 0) return;
    write_(to, pending.offset, {buffer_of(to), pending.size});
    pending.offset += pending.size;
    pending.size = 0;
    pending.room = room_at(pending.offset);
}

}  // namespace cleave
