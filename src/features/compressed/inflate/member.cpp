#include "features/compressed/inflate/member.h"

#include <libdeflate.h>

#include <algorithm>

#include "base/bits.h"

namespace cleave {
namespace {

// Bits of the flags.
constexpr std::uint8_t kHasChecksum = 2;
constexpr std::uint8_t kHasExtra = 4;
constexpr std::uint8_t kHasName = 8;
constexpr std::uint8_t kHasComment = 16;
constexpr std::uint8_t kReserved = 0xE0;

}  // namespace

Decoded MemberHead::read(std::span<const std::uint8_t>& from) noexcept {
    for (; part_ != Part::kEnd; part_ = static_cast<Part>(static_cast<int>(part_) + 1)) {
        if (!has_part()) continue;
        if (const Decoded result = read_part(from); result != Decoded::kAll) return result;
    }
    return Decoded::kAll;
}

bool MemberHead::has_part() const noexcept {
    switch (part_) {
        case Part::kExtraSize:
        case Part::kExtra: return (flags_ & kHasExtra) != 0;
        case Part::kName: return (flags_ & kHasName) != 0;
        case Part::kComment: return (flags_ & kHasComment) != 0;
        case Part::kChecksum: return (flags_ & kHasChecksum) != 0;
        default: return true;
    }
}

Decoded MemberHead::read_part(std::span<const std::uint8_t>& from) noexcept {
    constexpr std::size_t kTimes = 6;  // bytes: the time, and two that say how and where the member was made
    switch (part_) {
        case Part::kMagic:
            if (from.size() < 2) return Decoded::kNeedsInput;
            if (from[0] != 0x1F || from[1] != 0x8B) return Decoded::kBad;
            take(from, 2);
            return Decoded::kAll;
        case Part::kMethod:
            if (from.size() < 2) return Decoded::kNeedsInput;
            if (from[0] != 8 || (from[1] & kReserved) != 0) return Decoded::kBad;
            flags_ = from[1];
            take(from, 2);
            return Decoded::kAll;
        case Part::kTimes:
            if (from.size() < kTimes) return Decoded::kNeedsInput;
            take(from, kTimes);
            return Decoded::kAll;
        case Part::kExtraSize:
            if (from.size() < 2) return Decoded::kNeedsInput;
            extra_left_ = static_cast<std::size_t>(number_in(from.first(2)));
            take(from, 2);
            return Decoded::kAll;
        case Part::kExtra: {
            const std::size_t size = std::min(extra_left_, from.size());
            extra_left_ -= size;
            take(from, size);
            return extra_left_ == 0 ? Decoded::kAll : Decoded::kNeedsInput;
        }
        case Part::kName:
        case Part::kComment: return take_string(from);
        case Part::kChecksum:
            if (from.size() < 2) return Decoded::kNeedsInput;
            if (number_in(from.first(2)) != (checksum_ & 0xFFFF)) return Decoded::kBad;
            take(from, 2);
            return Decoded::kAll;
        case Part::kEnd: break;
    }
    return Decoded::kAll;
}

// Up to and including a NUL.
Decoded MemberHead::take_string(std::span<const std::uint8_t>& from) noexcept {
    const auto nul = std::ranges::find(from, 0);
    const bool has_end = nul != from.end();
    take(from, static_cast<std::size_t>(nul - from.begin()) + (has_end ? 1 : 0));
    return has_end ? Decoded::kAll : Decoded::kNeedsInput;
}

void MemberHead::take(std::span<const std::uint8_t>& from, std::size_t size) noexcept {
    checksum_ = ::libdeflate_crc32(checksum_, from.data(), size);
    from = from.subspan(size);
}

}  // namespace cleave
