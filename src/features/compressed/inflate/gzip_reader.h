// Reads gzip members in order, from the first or from a place in the middle. Knows nothing about descriptors and
// threads.
//
// The fast decoder (block.h) reads the blocks. If it refuses something, zlib reads on from the symbol that was refused,
// so that damaged data is judged by zlib alone. The bytes before the damage are returned in any case; the call after
// them throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/unfilled_buffer.h"
#include "features/compressed/inflate/block.h"
#include "features/compressed/inflate/judge.h"
#include "features/compressed/inflate/member.h"

namespace cleave {

// Where a stream can be read from without what comes before.
struct GzipPlace {
    unsigned bit = 0;            // of the first byte, 0 to 7
    bool is_in_member = false;   // between two blocks of a member; otherwise between members
    bool is_first = false;       // between members: none came before; there must be one
    std::uint64_t size = 0;      // bytes of the member so far, decoded
    std::uint32_t checksum = 0;  // CRC-32 of these
};

// For one thread at a time.
class GzipReader {
public:
    static constexpr std::size_t kRoom = std::size_t{256} << 10;

    // Starts at the first member.
    GzipReader() : GzipReader(GzipPlace{.is_first = true}, {}) {}
    // Starts at a place. `window` has the bytes before it, of the same member: all, or the last 32 KiB. Throws
    // std::bad_alloc.
    GzipReader(const GzipPlace& place, std::span<const std::uint8_t> window);

    // Stops at the end of each block, so that place() is valid more often.
    void stop_at_blocks() noexcept { stops_at_blocks_ = true; }

    // Takes bytes from the front of `from` and returns them decoded. The result is valid until the next call. It is
    // empty only if more bytes are needed (then those left in `from`, which are few, must be passed again, followed by
    // more), or at the end of a block. Throws InputError without a place, with `from` at the place; std::bad_alloc.
    std::span<const std::uint8_t> decode(std::span<const std::uint8_t>& from);

    // The places that the last decode() has passed, in order. Their bits count from the first byte it was given.
    std::span<const PassedPlace> places() const noexcept { return places_; }

    // Whether the bytes taken so far form a complete stream, which may end here.
    bool is_whole() const noexcept { return (stage_ == Stage::kBetween && !is_first_) || stage_ == Stage::kPadding; }

    // The place after the bytes taken, if reading could start there.
    std::optional<GzipPlace> place() const noexcept;
    // The last bytes of the member so far, at most 32 KiB. Valid until the next call.
    std::span<const std::uint8_t> window() const noexcept;

private:
    enum class Stage : std::uint8_t { kBetween, kMember, kBlockHead, kBlock, kJudged, kChecksum, kSize, kPadding };

    Decoded step(std::span<const std::uint8_t>& from, Room<std::uint8_t>& room);
    Decoded begin_member(std::span<const std::uint8_t>& from);
    Decoded read_blocks(std::span<const std::uint8_t>& from, Room<std::uint8_t>& room);
    Decoded read_block_head(BitReader& in);
    Decoded judge(BitReader& in, const Room<std::uint8_t>& room);
    Decoded read_judged(std::span<const std::uint8_t>& from, Room<std::uint8_t>& room);
    Decoded read_checksum(std::span<const std::uint8_t>& from, const Room<std::uint8_t>& room);
    Decoded take_number(std::span<const std::uint8_t>& from, std::uint64_t expected, Stage next);
    static Decoded skip_padding(std::span<const std::uint8_t>& from);
    void note(const std::uint8_t* end) noexcept;
    void pass_place(const std::uint8_t* from, std::uint64_t bit, const std::uint8_t* end);

    Stage stage_;
    bool is_first_;  // no member was begun
    bool stops_at_blocks_ = false;
    unsigned bit_;  // of the first byte that was not taken
    MemberHead head_;
    BlockDecoder block_;
    std::vector<std::uint8_t> block_head_;                     // the bytes with the head of the block, for the judge
    std::uint64_t block_head_first_ = 0, block_head_end_ = 0;  // bits of these
    std::optional<Judge> judge_;
    std::uint64_t size_;             // of the member so far, decoded
    std::uint32_t checksum_;         // of these
    UnfilledBuffer buffer_;          // a window, room and slack
    std::uint8_t* end_ = nullptr;    // of what was decoded, in buffer_
    std::uint8_t* noted_ = nullptr;  // up to here, size_ and checksum_ include it
    std::vector<PassedPlace> places_;
    const std::uint8_t* given_ = nullptr;  // the first byte that the last decode() was given
};

}  // namespace cleave
