#include "features/compressed/parallel_decoder.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <new>

#include "base/bits.h"
#include "base/parallel.h"

namespace cleave {
namespace {

// BGZF (section 4.1 of the SAM specification, version 1.6): a gzip member (RFC 1952) with an extra field `BC`:
//
//     1F 8B 08 flags ...10 bytes  XLEN  'B' 'C' 02 00 BSIZE   deflate   CRC32 ISIZE
//                                                    |                        |
//     BSIZE: the size of the entire member minus 1   ISIZE: the decoded size, at most 64 KiB

using Bytes = std::span<const std::uint8_t>;

// The size given by a member's extra field; 0 if there is none.
std::size_t member_size(Bytes extra) {
    constexpr std::size_t kHead = 4;  // two letters and the size of the content
    while (extra.size() >= kHead) {
        const auto size = static_cast<std::size_t>(number_in(extra.subspan(2, 2)));
        const Bytes content = extra.subspan(kHead);
        if (size > content.size()) return 0;
        if (extra[0] == 'B' && extra[1] == 'C' && size == 2)
            return static_cast<std::size_t>(number_in(content.first(2))) + 1;
        extra = content.subspan(size);
    }
    return 0;
}

// Few enough bytes that they are still in the first-level caches when they are scanned and written.
constexpr std::size_t kInOrder = std::size_t{64} << 10;

// One thread reads what the others decode, and could not keep up with more threads. This also limits the memory used.
constexpr unsigned kMaxThreads = 16;

// Compressed and decoded bytes for each thread.
constexpr std::size_t kRead = std::size_t{512} << 10;
constexpr std::size_t kRoom = std::size_t{2} << 20;

// A thread with less work than this would take longer to start than to finish.
constexpr std::size_t kLeastShare = std::size_t{128} << 10;

}  // namespace

StreamPart find_part(std::span<const std::uint8_t> bytes) noexcept {
    constexpr std::array<std::uint8_t, 3> kMagic = {0x1F, 0x8B, 8};
    constexpr std::uint8_t kHasExtra = 4;  // and no checksum of the header, which libdeflate does not check
    constexpr std::size_t kHeader = 12;    // includes the size of the extra field
    constexpr std::size_t kTrailer = 8;
    constexpr std::uint64_t kMost = std::uint64_t{64} << 10;

    const std::size_t seen = std::min(bytes.size(), kMagic.size());
    if (!std::equal(kMagic.begin(), kMagic.begin() + seen, bytes.begin())) return {};
    if (bytes.size() > kMagic.size() && bytes[3] != kHasExtra) return {};
    if (bytes.size() < kHeader) return {StreamPart::Kind::kCut};
    const auto extra = static_cast<std::size_t>(number_in(bytes.subspan(kHeader - 2, 2)));
    if (bytes.size() < kHeader + extra) return {StreamPart::Kind::kCut};
    const std::size_t size = member_size(bytes.subspan(kHeader, extra));
    if (size < kHeader + extra + kTrailer) return {};
    if (bytes.size() < size) return {StreamPart::Kind::kCut};
    const std::uint64_t room = number_in(bytes.subspan(size - 4, 4));
    if (room > kMost) return {};
    return {StreamPart::Kind::kWhole, size, static_cast<std::size_t>(room)};
}

PartDecoder::PartDecoder() : decompressor_(::libdeflate_alloc_decompressor()) {
    if (!decompressor_) throw std::bad_alloc();
}

bool PartDecoder::decode(std::span<const std::uint8_t> from, std::span<std::uint8_t> into) noexcept {
    std::size_t taken = 0;
    std::size_t made = 0;
    const auto result = ::libdeflate_gzip_decompress_ex(decompressor_.get(), from.data(), from.size(), into.data(),
                                                        into.size(), &taken, &made);
    return result == LIBDEFLATE_SUCCESS && taken == from.size() && made == into.size();
}

ParallelDecoder::ParallelDecoder(Compression format) : takes_parts_(format == Compression::kGzip) {
    if (format == Compression::kGzip) {
        gzip_ = std::make_unique<GzipReader>();
    } else {
        decoder_ = make_decoder(format);
    }
}

void ParallelDecoder::set_threads(unsigned threads) noexcept {
    threads_ = std::clamp(threads, 1U, kMaxThreads);
    if (decoder_) decoder_->set_threads(threads_);
}

std::size_t ParallelDecoder::read_size() const { return has_parts_ ? kRead * threads_ : kInOrder; }

std::span<const std::uint8_t> ParallelDecoder::decode(std::span<const std::uint8_t>& from, Following following) {
    const std::uint8_t* const begin = from.data();
    places_.clear();
    while (takes_parts_ && !from.empty()) {
        const bool is_cut = find_parts(from);
        const bool is_little = full_parts_ < threads_ && from.size() < kRoom * threads_;
        const bool wants_more = following == Following::kReady ? is_little : parts_.empty();
        if (is_cut && wants_more && following != Following::kNothing) return {};
        takes_parts_ = !parts_.empty();
        has_parts_ = has_parts_ || takes_parts_;
        if (!takes_parts_) break;
        if (const auto bytes = take_parts(from, begin); !bytes.empty()) return bytes;
    }
    if (gzip_) {
        const std::uint64_t first = static_cast<std::uint64_t>(from.data() - begin) * 8;
        const auto bytes = gzip_->decode(from);
        for (const PassedPlace& place : gzip_->places())
            places_.push_back({place.at, first + place.bit, place.is_in_member});
        return bytes;
    }
    const auto into = buffer_.grow(kInOrder).first(kInOrder);
    return into.first(decoder_->decode(from, into));
}

std::span<const std::uint8_t> ParallelDecoder::finish() {
    if (gzip_) return {};
    const auto into = buffer_.grow(kInOrder).first(kInOrder);
    return into.first(decoder_->finish(into));
}

// Lists the complete parts, as far as there is room for them. Returns whether more bytes might reveal more parts.
bool ParallelDecoder::find_parts(std::span<const std::uint8_t> bytes) {
    const std::size_t most = kRoom * threads_;
    parts_.clear();
    full_parts_ = 0;
    room_ = 0;
    for (;;) {
        const StreamPart part = find_part(bytes);
        if (part.kind != StreamPart::Kind::kWhole) return part.kind == StreamPart::Kind::kCut;
        if (part.room > most - room_) return false;
        parts_.push_back({bytes.first(part.size), room_, part.room});
        full_parts_ += part.room > 0 ? 1 : 0;
        room_ += part.room;
        bytes = bytes.subspan(part.size);
    }
}

// Returns how many parts are sound, counting from the first. The threads take parts in order and stop at the first that
// is not sound, so all the parts before it are decoded.
std::size_t ParallelDecoder::decode_parts(std::span<std::uint8_t> room) {
    const std::size_t count = std::min({std::size_t{threads_}, parts_.size(), 1 + room_ / kLeastShare});
    while (workers_.size() < count) workers_.push_back(std::make_unique<PartDecoder>());
    std::atomic<std::size_t> next{0};
    std::atomic<std::size_t> end{parts_.size()};
    parallel_for(count, threads_, [&](std::size_t worker) {
        for (std::size_t i = next.fetch_add(1); i < end.load(); i = next.fetch_add(1)) {
            const Part& part = parts_[i];
            if (workers_[worker]->decode(part.bytes, room.subspan(part.offset, part.size))) continue;
            std::size_t before = end.load();
            while (i < before && !end.compare_exchange_weak(before, i)) {
            }
        }
    });
    return end.load();
}

// `begin` is the byte from which the bits of places count.
std::span<const std::uint8_t> ParallelDecoder::take_parts(std::span<const std::uint8_t>& from,
                                                          const std::uint8_t* begin) {
    const auto room = buffer_.grow(std::max(room_, kInOrder));
    const std::size_t count = decode_parts(room);
    takes_parts_ = count == parts_.size();
    if (count == 0) return {};
    gzip_ = std::make_unique<GzipReader>(GzipPlace{}, std::span<const std::uint8_t>());  // after these members
    std::size_t size = 0;
    for (const Part& part : std::span(parts_).first(count)) {
        size += part.size;
        from = from.subspan(part.bytes.size());
        places_.push_back({size, static_cast<std::uint64_t>(from.data() - begin) * 8, false});
    }
    return room.first(size);
}

}  // namespace cleave
