#include "features/compressed/inflate/gzip_reader.h"

#include <libdeflate.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/bits.h"
#include "cleave/error.h"

namespace cleave {
namespace {

constexpr char kCorruptGzip[] = "corrupt gzip data";
constexpr char kFollowed[] = "other bytes follow the gzip data, which is complete";
constexpr std::uint8_t kFirstByte = 0x1F;  // of a member

constexpr std::size_t kBuffer = kWindow + GzipReader::kRoom + Room<std::uint8_t>::kSlack;

}  // namespace

GzipReader::GzipReader(const GzipPlace& place, std::span<const std::uint8_t> window)
    : stage_(place.is_in_member ? Stage::kBlockHead : Stage::kBetween),
      is_first_(place.is_first),
      bit_(place.bit),
      size_(place.size),
      checksum_(place.checksum) {
    assert(window.size() >= std::min<std::uint64_t>(kWindow, size_));
    std::uint8_t* const start = buffer_.grow(kBuffer).data() + kWindow;
    const auto last = window.last(std::min(window.size(), kWindow));
    std::ranges::copy(last, start - last.size());
    end_ = noted_ = start;
}

std::optional<GzipPlace> GzipReader::place() const noexcept {
    if (stage_ != Stage::kBlockHead && stage_ != Stage::kBetween) return {};
    return GzipPlace{bit_, stage_ == Stage::kBlockHead, is_first_, size_, checksum_};
}

std::span<const std::uint8_t> GzipReader::window() const noexcept {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kWindow, size_));
    return {end_ - size, size};
}

std::span<const std::uint8_t> GzipReader::decode(std::span<const std::uint8_t>& from) {
    // The window is moved to the front of the buffer, so that what is decoded follows it.
    std::uint8_t* const start = buffer_.grow(kBuffer).data() + kWindow;
    const auto kept = window();
    std::memmove(start - kept.size(), kept.data(), kept.size());
    end_ = noted_ = start;
    places_.clear();
    given_ = from.data();
    Room<std::uint8_t> room{start, start + kRoom, start - kept.size()};
    Decoded result = Decoded::kAll;
    while (result == Decoded::kAll) {
        result = step(from, room);
        if (stops_at_blocks_ && result == Decoded::kAll && place()) break;
    }
    note(room.next);
    if (result == Decoded::kBad && room.next == start) throw InputError(is_whole() ? kFollowed : kCorruptGzip);
    return {start, room.next};
}

// Adds what was decoded up to `end` to the size and the checksum.
void GzipReader::note(const std::uint8_t* end) noexcept {
    const auto size = static_cast<std::size_t>(end - noted_);
    checksum_ = ::libdeflate_crc32(checksum_, noted_, size);
    size_ += size;
    noted_ += size;
    end_ = noted_;
}

// Notes the place that the reader has come to: `bit` counts from the byte `from`, and `end` is that of the decoded
// bytes.
void GzipReader::pass_place(const std::uint8_t* from, std::uint64_t bit, const std::uint8_t* end) {
    const auto at = static_cast<std::size_t>(end - (buffer_.grow(kBuffer).data() + kWindow));
    places_.push_back({at, static_cast<std::uint64_t>(from - given_) * 8 + bit, stage_ == Stage::kBlockHead});
}

// Does what is next. kAll: something else is next.
Decoded GzipReader::step(std::span<const std::uint8_t>& from, Room<std::uint8_t>& room) {
    switch (stage_) {
        case Stage::kBetween: return begin_member(from);
        case Stage::kMember: {
            const Decoded result = head_.read(from);
            if (result != Decoded::kAll) return result;
            size_ = 0;
            checksum_ = 0;
            noted_ = room.next;
            room.first = room.next;
            stage_ = Stage::kBlockHead;
            return result;
        }
        case Stage::kBlockHead:
        case Stage::kBlock: return read_blocks(from, room);
        case Stage::kJudged: return read_judged(from, room);
        case Stage::kChecksum: return read_checksum(from, room);
        case Stage::kSize: {
            const Decoded result = take_number(from, size_, Stage::kBetween);
            if (result == Decoded::kAll) pass_place(from.data(), 0, room.next);
            return result;
        }
        case Stage::kPadding: return skip_padding(from);
    }
    return Decoded::kBad;
}

// Zeros may follow the last member, to fill up a tape block.
Decoded GzipReader::begin_member(std::span<const std::uint8_t>& from) {
    if (from.empty()) return Decoded::kNeedsInput;
    if (!is_first_ && from.front() == 0) {
        stage_ = Stage::kPadding;
        return Decoded::kAll;
    }
    if (!is_first_ && from.front() != kFirstByte) return Decoded::kBad;
    is_first_ = false;
    head_.reset();
    stage_ = Stage::kMember;
    return Decoded::kAll;
}

Decoded GzipReader::skip_padding(std::span<const std::uint8_t>& from) {
    const auto other = std::ranges::find_if(from, [](std::uint8_t byte) { return byte != 0; });
    from = from.subspan(static_cast<std::size_t>(other - from.begin()));
    return from.empty() ? Decoded::kNeedsInput : Decoded::kBad;
}

Decoded GzipReader::read_blocks(std::span<const std::uint8_t>& from, Room<std::uint8_t>& room) {
    if (from.empty()) return Decoded::kNeedsInput;
    BitReader in(from, bit_);
    Decoded result = Decoded::kAll;
    do {
        if (stage_ == Stage::kBlockHead) result = read_block_head(in);
        if (stage_ == Stage::kBlock) {
            result = block_.decode(in, room);
            if (result == Decoded::kAll) stage_ = block_.is_last() ? Stage::kChecksum : Stage::kBlockHead;
            if (stage_ == Stage::kBlockHead) pass_place(from.data(), in.bit(), room.next);
        }
    } while (result == Decoded::kAll && stage_ == Stage::kBlockHead && !stops_at_blocks_);
    if (result == Decoded::kBad) result = judge(in, room);
    from = from.subspan(static_cast<std::size_t>(in.bit() / 8));
    bit_ = static_cast<unsigned>(in.bit() % 8);
    return result;
}

Decoded GzipReader::read_block_head(BitReader& in) {
    const BitReader before = in;
    const Decoded result = block_.read_head(in);
    if (result != Decoded::kAll) return result;
    const std::uint64_t first = before.bit() / 8;
    const std::uint64_t end = (in.bit() + 7) / 8;
    const auto bytes = in.bytes().subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first));
    block_head_.assign(bytes.begin(), bytes.end());
    block_head_first_ = before.bit() - first * 8;
    block_head_end_ = in.bit() - first * 8;
    stage_ = Stage::kBlock;
    return result;
}

// Hands over to zlib, from the next bit.
Decoded GzipReader::judge(BitReader& in, const Room<std::uint8_t>& room) {
    const auto window = std::span<const std::uint8_t>(room.first, room.next);
    const BitRange head =
        stage_ == Stage::kBlock ? BitRange{block_head_, block_head_first_, block_head_end_} : BitRange{};
    judge_.emplace(window.last(std::min(window.size(), kWindow)), head);
    if (const unsigned used = in.bit() % 8; used > 0) {
        in.has(8 - used);
        judge_->pass_bits(8 - used, static_cast<unsigned>(in.take(8 - used)));
    }
    stage_ = Stage::kJudged;
    return Decoded::kAll;
}

Decoded GzipReader::read_judged(std::span<const std::uint8_t>& from, Room<std::uint8_t>& room) {
    std::size_t size = 0;
    const Decoded result = judge_->decode(from, {room.next, room.end}, size);
    room.next += size;
    if (result != Decoded::kAll) return result;
    judge_.reset();
    stage_ = Stage::kChecksum;
    bit_ = 0;
    return Decoded::kAll;
}

Decoded GzipReader::read_checksum(std::span<const std::uint8_t>& from, const Room<std::uint8_t>& room) {
    if (bit_ > 0) {
        from = from.subspan(1);
        bit_ = 0;
    }
    note(room.next);
    return take_number(from, checksum_, Stage::kSize);
}

// Takes four bytes, which must be the lowest ones of `expected`.
Decoded GzipReader::take_number(std::span<const std::uint8_t>& from, std::uint64_t expected, Stage next) {
    constexpr std::size_t kBytes = 4;
    if (from.size() < kBytes) return Decoded::kNeedsInput;
    if (number_in(from.first(kBytes)) != (expected & 0xFFFFFFFF)) return Decoded::kBad;
    from = from.subspan(kBytes);
    stage_ = next;
    return Decoded::kAll;
}

}  // namespace cleave
