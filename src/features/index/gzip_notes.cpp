#include "features/index/gzip_notes.h"

#include <libdeflate.h>
#include <zlib.h>

#include <algorithm>
#include <utility>

#include "base/parallel.h"
#include "features/index/gzip_format.h"

namespace cleave {
namespace {

// How many windows a thread packs at a time. Packing one takes a quarter of a millisecond, and starting a thread, with
// the memory that it needs, about as long.
constexpr std::size_t kWindowsOfThread = 16;

}  // namespace

void GzipNotes::decoded(std::span<const std::uint8_t> bytes, std::span<const PassedPlace> places) {
    std::size_t passed = 0;
    const auto pass_to = [&](std::size_t at) {
        pass(bytes.subspan(passed, at - passed));
        passed = at;
    };
    for (const PassedPlace& place : places) {
        const bool is_wanted = is_checkpoint(offset_ + (place.at - passed), place.bit);
        if (!is_wanted && place.is_in_member) continue;
        pass_to(place.at);
        if (!place.is_in_member) member_size_ = member_checksum_ = 0;
        if (is_wanted) add_checkpoint(place, bytes.first(place.at));
    }
    pass_to(bytes.size());
    const std::size_t kept = std::min(last_.size(), kMostWindow - std::min(bytes.size(), kMostWindow));
    last_.erase(last_.begin(), last_.end() - static_cast<std::ptrdiff_t>(kept));
    const auto added = bytes.last(std::min(bytes.size(), kMostWindow));
    last_.insert(last_.end(), added.begin(), added.end());
}

bool GzipNotes::is_checkpoint(std::uint64_t offset, std::uint64_t bit) const noexcept {
    const std::uint64_t distance = offset - last_offset_;
    const bool shrinks = (bit - last_bit_) / 8 <= distance / 5 * 2;
    return distance >= (shrinks ? kGzipDistance / 2 : kGzipDistance);
}

// A checksum is taken once, and combined with those of the part and of the member.
void GzipNotes::pass(std::span<const std::uint8_t> bytes) {
    while (!bytes.empty()) {
        const auto part = bytes.first(std::min<std::uint64_t>(bytes.size(), kGzipPart - offset_ % kGzipPart));
        const std::uint32_t checksum = ::libdeflate_crc32(0, part.data(), part.size());
        const auto size = static_cast<z_off_t>(part.size());
        checksum_ = static_cast<std::uint32_t>(::crc32_combine(checksum_, checksum, size));
        member_checksum_ = static_cast<std::uint32_t>(::crc32_combine(member_checksum_, checksum, size));
        member_size_ += part.size();
        offset_ += part.size();
        bytes = bytes.subspan(part.size());
        if (offset_ % kGzipPart == 0) end_part();
    }
}

void GzipNotes::end_part() { notes_.checksums.push_back(std::exchange(checksum_, 0)); }

// `bytes` end at the place, which is at offset_.
void GzipNotes::add_checkpoint(const PassedPlace& place, std::span<const std::uint8_t> bytes) {
    GzipCheckpoint checkpoint{offset_, place.bit, place.is_in_member, member_size_, member_checksum_, {}};
    const std::size_t size = window_size(checkpoint);
    const auto here = bytes.last(std::min(bytes.size(), size));
    checkpoint.window.assign(last_.end() - static_cast<std::ptrdiff_t>(size - here.size()), last_.end());
    checkpoint.window.insert(checkpoint.window.end(), here.begin(), here.end());
    notes_.checkpoints.push_back(std::move(checkpoint));
    if (notes_.checkpoints.size() - packed_ == threads_ * kWindowsOfThread) pack_windows();
    last_offset_ = offset_;
    last_bit_ = place.bit;
}

void GzipNotes::pack_windows() {
    const auto unpacked = std::span(notes_.checkpoints).subspan(packed_);
    parallel_for(unpacked.size(), threads_, [unpacked, pack = WindowPacker()](std::size_t i) mutable {
        unpacked[i].window = pack(unpacked[i].window);
    });
    packed_ = notes_.checkpoints.size();
}

GzipIndex GzipNotes::take() {
    if (offset_ % kGzipPart != 0) end_part();
    pack_windows();
    packed_ = 0;
    return std::exchange(notes_, {});
}

}  // namespace cleave
