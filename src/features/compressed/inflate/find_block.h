// Finds places in the middle of a gzip stream where decoding may begin. Knows nothing about threads.
//
// Deflate has no marks. But the head of a block with dynamic codes (RFC 1951, section 3.2.7) must fulfil conditions
// that random bits seldom do: three bits with fixed values; two counts in range; a code of code lengths in which each
// prefix has one meaning, as is needed twice more for the codes that it describes. A stored block repeats its size
// inverted, and a member begins with a magic number. In 1.3 * 10^9 random bits, 1 head of a dynamic block, 307 of a
// stored one and 18 of a member were found. So what is found is only a guess, which the caller must prove: see
// parallel_gzip.h.
//
// Blocks with fixed codes cannot be told from other bits, and are not looked for; nor is the last block of a member,
// which is followed by the next member.
//
// The idea is from rapidgzip (Knespel and Brunst, HPDC 2023) and pugz (Kerbiriou and Chikhi, HICOMB 2019).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "features/compressed/inflate/block.h"

namespace cleave {

// Where decoding may begin, as a number of bits before it.
struct BlockStart {
    enum class Kind : std::uint8_t { kDynamic, kStored, kMember };

    Kind kind;
    std::uint64_t bit;  // of a member: of its first byte

    bool operator==(const BlockStart&) const = default;
};

// For one thread at a time.
class BlockFinder {
public:
    // The bytes must outlive the finder.
    explicit BlockFinder(std::span<const std::uint8_t> bytes) noexcept : bytes_(bytes) {}

    // The first start in [first, end), which are bits.
    std::optional<BlockStart> find(std::uint64_t first, std::uint64_t end) noexcept;

    // The block that begins at that bit, if it is one that find() would report, and as it would report it.
    std::optional<BlockStart> at(std::uint64_t bit) noexcept;

    // The first bit in [first, end) at which a member begins; `end` if there is none.
    std::uint64_t find_member(std::uint64_t first, std::uint64_t end) const noexcept;

private:
    std::uint64_t find_dynamic(std::uint64_t first, std::uint64_t end) noexcept;
    std::uint64_t find_stored(std::uint64_t first, std::uint64_t end) const noexcept;
    bool is_dynamic(std::uint64_t bit) noexcept;

    std::span<const std::uint8_t> bytes_;
    BlockDecoder decoder_;
};

}  // namespace cleave
