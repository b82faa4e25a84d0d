// The head and the trailer of a gzip member (RFC 1952). Knows nothing about deflate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "features/compressed/inflate/block.h"

namespace cleave {

constexpr std::size_t kMemberTrailer = 8;  // bytes

// Reads the head of a member, piece by piece; names and comments may be of any length. Accepts what zlib accepts.
class MemberHead {
public:
    // Takes bytes from the front of `from`. kAll: that was the last byte of the head. kNeedsInput: all of `from` was
    // taken, or no more than 9 bytes are left, which must be passed again with those that follow. kBad: `from` begins
    // with the bytes that cannot be.
    Decoded read(std::span<const std::uint8_t>& from) noexcept;

    // Starts again.
    void reset() noexcept { *this = MemberHead(); }

private:
    enum class Part : std::uint8_t { kMagic, kMethod, kTimes, kExtraSize, kExtra, kName, kComment, kChecksum, kEnd };

    Decoded read_part(std::span<const std::uint8_t>& from) noexcept;
    bool has_part() const noexcept;
    void take(std::span<const std::uint8_t>& from, std::size_t size) noexcept;
    Decoded take_string(std::span<const std::uint8_t>& from) noexcept;

    Part part_ = Part::kMagic;
    std::uint8_t flags_ = 0;
    std::size_t extra_left_ = 0;
    std::uint32_t checksum_ = 0;  // of the bytes taken
};

}  // namespace cleave
