// Decodes the blocks of a deflate stream (RFC 1951, section 3.2), to bytes or to symbols. Knows nothing about members
// and checksums.
//
// Accepts exactly what zlib accepts, and stops at the same bit as zlib if the data is corrupt or ends too early. The
// speed comes from the tables (see huffman.h), from filling 56 bits at a time without a branch, and from copies of
// whole 16 bytes that may write more than they should: the room for the output ends with kSlack units that they may
// write to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "features/compressed/inflate/bit_reader.h"
#include "features/compressed/inflate/huffman.h"

namespace cleave {

// How far back a stream may refer.
constexpr std::size_t kWindow = std::size_t{32} << 10;

// Where to write. A unit is a byte, or a symbol of 16 bits (see chunk.h).
template <class Unit>
struct Room {
    // One match, the literals decoded just before it, and one copy step.
    static constexpr std::size_t kSlack = 320;

    Unit* next;         // the next unit to write
    const Unit* end;    // decoding stops when this is reached; it is followed by kSlack units of room
    const Unit* first;  // the first unit that may be referred to; at most `next`
};

enum class Decoded : std::uint8_t {
    kAll,         // what was asked for
    kNeedsInput,  // the bytes end before it
    kNeedsRoom,   // there is no more room for it
    kBad,         // the data is corrupt
};

// For one thread at a time.
class BlockDecoder {
public:
    enum class Kind : std::uint8_t { kStored, kFixed, kDynamic };

    // Reads the head of a block: kAll, kNeedsInput or kBad. Unless it returns kAll, the reader stays where it was.
    Decoded read_head(BitReader& in) noexcept;

    // Of the block whose head was read.
    Kind kind() const noexcept { return kind_; }
    bool is_last() const noexcept { return is_last_; }

    // Decodes the rest of the block, as far as there are room and input. Takes the bits of each symbol as a whole or
    // not at all.
    template <class Unit>
    Decoded decode(BitReader& in, Room<Unit>& room) noexcept;

private:
    template <class Unit>
    struct Run;

    Decoded read_dynamic(BitReader& in) noexcept;
    template <class Unit>
    Decoded copy_stored(BitReader& in, Room<Unit>& room) noexcept;
    template <class Unit>
    bool decode_fast(BitReader& in, Room<Unit>& room, Decoded& result) const noexcept;
    template <class Unit>
    Decoded decode_slowly(BitReader& in, Room<Unit>& room) const noexcept;
    template <class Unit>
    Decoded copy_match_slowly(BitReader& in, Room<Unit>& room, std::size_t size) const noexcept;

    Kind kind_ = Kind::kStored;
    bool is_last_ = false;
    std::uint32_t stored_left_ = 0;  // bytes
    BlockCodes codes_;
};

// A place among bytes that were decoded. There is one after each block that is not the last of its member, and one
// after each member.
struct PassedPlace {
    std::size_t at = 0;     // how many of the decoded bytes come before it
    std::uint64_t bit = 0;  // of the compressed bytes; the function that reports the place says where counting begins
    bool is_in_member = false;

    bool operator==(const PassedPlace&) const = default;
};

}  // namespace cleave
