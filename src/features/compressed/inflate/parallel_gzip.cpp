#include "features/compressed/inflate/parallel_gzip.h"

#include <zlib.h>

#include <algorithm>
#include <utility>

#include "cleave/error.h"

namespace cleave {
namespace {

// Bytes of the next chunk that a chunk may need to reach the end of a block. By default, a block of zlib has at most
// 16,383 symbols, each of at most 48 bits, which are 98 KB.
constexpr std::size_t kOverlap = std::size_t{128} << 10;

// Decoded, a chunk should be about this long: many times the window, and little enough for the caches.
constexpr std::size_t kDecodedChunk = std::size_t{4} << 20;

constexpr std::size_t kFirstChunk = std::size_t{256} << 10;

}  // namespace

ParallelGzip::ParallelGzip(std::unique_ptr<GzipReader> reader, Source source, unsigned threads, std::size_t chunk_size)
    : source_(std::move(source)),
      is_chunk_size_fixed_(chunk_size > 0),
      chunk_size_(chunk_size > 0 ? chunk_size : kFirstChunk),
      reader_(std::move(reader)),
      queue_(threads) {
    reader_->stop_at_blocks();
}

// Reads one chunk. A chunk is passed on when the bytes that follow it are there as well. Returns false at the end.
bool ParallelGzip::read_slot() {
    if (is_at_end_) return false;
    auto slot = queue_.spare();
    const auto room = slot->buffer.grow(chunk_size_ + kOverlap);
    std::size_t size = 0;
    while (size < chunk_size_) {
        const std::size_t got = source_(room.subspan(size, chunk_size_ - size));
        if (got == 0) break;
        size += got;
    }
    is_at_end_ = size < chunk_size_;
    slot->bytes = room.first(size);
    slot->size = size;
    slot->first = read_;
    slot->reaches_end = is_at_end_;
    read_ += size;
    if (last_) {
        const auto following = slot->bytes.first(std::min(size, kOverlap));
        const auto last_room = last_->buffer.grow(last_->size + following.size());
        std::ranges::copy(following, last_room.begin() + static_cast<std::ptrdiff_t>(last_->size));
        last_->bytes = last_room.first(last_->size + following.size());
        last_->reaches_end = is_at_end_ && following.size() == size;
        queue_.push(std::move(last_));
    }
    if (is_at_end_) {
        if (size > 0) queue_.push(std::move(slot));
    } else {
        last_ = std::move(slot);
    }
    return true;
}

void ParallelGzip::read_ahead() {
    while ((queue_.wants_more() || queue_.is_empty()) && read_slot()) {
    }
}

std::span<const std::uint8_t> ParallelGzip::read() {
    places_.clear();
    for (;;) {
        if (!reader_) drop_passed(link_.bit / 8);
        read_ahead();
        if (!reader_ && !queue_.is_empty() && !is_front_used_) {
            ChunkSlot* const slot = queue_.wait_for_front();
            if (slot != nullptr && is_sound(*slot)) {
                if (const auto bytes = take_front(*slot); !bytes.empty()) return bytes;
                continue;
            }
            is_front_used_ = slot != nullptr;
        }
        if (!reader_) begin_in_order();
        if (const auto bytes = read_in_order(); !bytes.empty() || reader_) return bytes;
    }
}

// Removes the chunks that end at or before a byte.
void ParallelGzip::drop_passed(std::uint64_t byte) {
    while (!queue_.is_empty() && byte >= queue_.front().first + queue_.front().size) {
        queue_.pop();
        is_front_used_ = false;
    }
}

// Takes places whose bits count from the byte `first`. Nothing has been decoded by this read() before.
void ParallelGzip::pass_places(std::span<const PassedPlace> places, std::uint64_t first) {
    for (const PassedPlace& place : places) places_.push_back({place.at, first * 8 + place.bit, place.is_in_member});
}

// Whether the members that end in the chunk are sound. If so, `here_` becomes the place after the chunk.
bool ParallelGzip::is_sound(const ChunkSlot& slot) {
    if (!slot.is_resolved) return false;
    const Chunk& chunk = *slot.chunk;
    GzipPlace place = here_;
    if (!link_.is_in_member) place.size = place.checksum = 0;
    std::size_t at = 0;
    std::size_t segment = 0;
    const auto pass = [&](std::size_t end) {
        const std::size_t size = end - at;
        place.checksum = static_cast<std::uint32_t>(
            ::crc32_combine(place.checksum, slot.checksums[segment++], static_cast<z_off_t>(size)));
        place.size += size;
        at = end;
    };
    for (const MemberEnd& member : chunk.members) {
        pass(member.at);
        if (place.checksum != member.checksum || static_cast<std::uint32_t>(place.size) != member.size) return false;
        place.size = place.checksum = 0;
    }
    pass(chunk.size);
    place.is_first = false;
    here_ = place;
    return true;
}

std::span<const std::uint8_t> ParallelGzip::take_front(ChunkSlot& slot) {
    const Chunk& chunk = *slot.chunk;
    if (!is_chunk_size_fixed_ && chunk.size > 0) {
        const std::uint64_t fitting = (chunk.end - chunk.start.bit) / 8 * kDecodedChunk / chunk.size;
        chunk_size_ = static_cast<std::size_t>(std::clamp<std::uint64_t>(fitting, kLeastChunk, kMostChunk));
    }
    link_ = slot.after;
    is_front_used_ = true;
    pass_places(chunk.places, slot.first);
    return slot.room.bytes(chunk);
}

void ParallelGzip::begin_in_order() {
    here_.bit = link_.bit % 8;
    here_.is_in_member = link_.is_in_member;
    reader_ = std::make_unique<GzipReader>(here_, link_.window);
    reader_->stop_at_blocks();
    reader_at_ = link_.bit / 8;
}

// Without a reader afterwards: the chunks continue.
std::span<const std::uint8_t> ParallelGzip::read_in_order() {
    for (;;) {
        drop_passed(reader_at_);
        read_ahead();
        if (rejoin()) {
            reader_.reset();
            return {};
        }
        std::span<const std::uint8_t> from;
        bool is_last = true;
        if (!queue_.is_empty()) {
            const ChunkSlot& slot = queue_.front();
            from = slot.bytes.subspan(static_cast<std::size_t>(reader_at_ - slot.first));
            is_last = slot.reaches_end;
        }
        const auto before = reader_->place();
        const std::uint64_t before_at = reader_at_;
        const auto bytes = decode_in_order(from);
        if (!bytes.empty()) return bytes;
        // Either a block has ended, or more bytes are needed.
        const auto after = reader_->place();
        const bool has_moved = after && (!before || reader_at_ != before_at || after->bit != before->bit);
        if (is_last && !has_moved) break;
    }
    is_whole_ = reader_->is_whole();
    place_ = read_;
    return {};
}

std::span<const std::uint8_t> ParallelGzip::decode_in_order(std::span<const std::uint8_t> from) {
    const std::uint8_t* const begin = from.data();
    const auto pass = [&] { reader_at_ += static_cast<std::uint64_t>(from.data() - begin); };
    try {
        const auto bytes = reader_->decode(from);
        pass_places(reader_->places(), reader_at_);
        pass();
        return bytes;
    } catch (const InputError&) {
        pass();
        place_ = reader_at_;
        throw;
    }
}

// Whether the first chunk of the queue begins where the reader is. If so, chunks are linked from there.
bool ParallelGzip::rejoin() {
    const auto place = reader_->place();
    if (!place || queue_.is_empty() || is_front_used_) return false;
    const ChunkSlot& slot = queue_.wait_for_decoded_front();
    const std::uint64_t bit = (reader_at_ - slot.first) * 8 + place->bit;
    if (!slot.chunk || slot.chunk->start.bit < bit) {
        is_front_used_ = true;
        return false;
    }
    std::uint64_t start = bit;
    if (place->is_in_member) {
        const auto found = BlockFinder(slot.bytes).at(bit);
        if (!found) return false;
        start = found->bit;
    }
    if (start != slot.chunk->start.bit) return false;
    const auto window = reader_->window();
    ChunkLink link{slot.first * 8 + start, place->is_in_member, {window.begin(), window.end()}};
    if (!queue_.link_front(link)) {
        is_front_used_ = true;
        return false;
    }
    link_ = std::move(link);
    here_ = *place;
    return true;
}

}  // namespace cleave
