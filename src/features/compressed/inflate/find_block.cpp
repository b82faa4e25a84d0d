#include "features/compressed/inflate/find_block.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "features/compressed/inflate/bit_reader.h"

namespace cleave {
namespace {

// Bits of the head of a dynamic block up to the lengths of the code lengths, and of four of these lengths.
constexpr unsigned kCountBits = 17;
constexpr unsigned kFourLengths = 12;

// For each four lengths of code lengths: how many of the 2^7 strings of 7 bits begin with one of their codes.
constexpr auto kStrings = [] {
    std::array<std::uint16_t, 1U << kFourLengths> strings{};
    for (std::size_t i = 0; i < strings.size(); ++i) {
        for (unsigned shift = 0; shift < kFourLengths; shift += 3) {
            const auto length = static_cast<unsigned>(i >> shift & 7);
            if (length > 0) strings[i] = static_cast<std::uint16_t>(strings[i] + (128U >> length));
        }
    }
    return strings;
}();

// Whether a head that begins at the lowest bit of `head` has a complete code of code lengths. `rest` has the bits from
// kCountBits on.
bool has_complete_code(std::uint64_t head, std::uint64_t rest) noexcept {
    const auto lengths = static_cast<unsigned>((head >> 13 & 15) + 4);
    rest &= (std::uint64_t{1} << 3 * lengths) - 1;
    unsigned strings = 0;
    for (unsigned i = 0; i < 5; ++i, rest >>= kFourLengths) strings += kStrings[rest & (kStrings.size() - 1)];
    return strings == 128;
}

// For each bit: whether a dynamic block that is not the last may begin there, as far as its first 13 bits tell: 0, then
// 2 in two bits, then two numbers of five bits, each below 30. Right for the lowest 51 bits.
std::uint64_t possible_heads(std::uint64_t bits) noexcept {
    const std::uint64_t kind = ~bits & ~(bits >> 1) & bits >> 2;
    const std::uint64_t literals = bits >> 4 & bits >> 5 & bits >> 6 & bits >> 7;
    const std::uint64_t distances = bits >> 9 & bits >> 10 & bits >> 11 & bits >> 12;
    return kind & ~literals & ~distances;
}

}  // namespace

std::optional<BlockStart> BlockFinder::find(std::uint64_t first, std::uint64_t end) noexcept {
    end = std::min<std::uint64_t>(end, bytes_.size() * 8);
    if (first >= end) return {};
    using Kind = BlockStart::Kind;
    const std::uint64_t dynamic = find_dynamic(first, end);
    const std::uint64_t stored = find_stored(first, dynamic);
    const std::uint64_t member = find_member(first, stored);
    if (member < stored) return BlockStart{Kind::kMember, member};
    if (stored < dynamic) return BlockStart{Kind::kStored, stored};
    if (dynamic < end) return BlockStart{Kind::kDynamic, dynamic};
    return {};
}

bool BlockFinder::is_dynamic(std::uint64_t bit) noexcept {
    BitReader reader(bytes_, bit);
    return decoder_.read_head(reader) == Decoded::kAll;
}

// This one and the next return `end` if they find nothing.
std::uint64_t BlockFinder::find_dynamic(std::uint64_t first, std::uint64_t end) noexcept {
    constexpr std::size_t kLookahead = 24;  // bytes that are loaded for one step
    constexpr unsigned kStep = 48;          // bits
    std::uint64_t bit = first;
    for (auto byte = static_cast<std::size_t>(first / 8); byte + kLookahead <= bytes_.size() && byte * 8 < end;
         byte += kStep / 8) {
        const std::uint8_t* const at = bytes_.data() + byte;
        std::uint64_t heads = possible_heads(load_bits(at)) & ((std::uint64_t{1} << kStep) - 1);
        for (; heads != 0; heads &= heads - 1) {
            const auto offset = static_cast<unsigned>(std::countr_zero(heads));
            bit = byte * 8 + offset;
            if (bit < first) continue;
            if (bit >= end) return end;
            const std::uint64_t head = load_bits(at + offset / 8) >> offset % 8;
            const unsigned rest = offset + kCountBits;
            if (has_complete_code(head, load_bits(at + rest / 8) >> rest % 8) && is_dynamic(bit)) return bit;
        }
    }
    return end;
}

// The bit is that of the last place where the block may begin: three bits before the size. zlib fills up with zeros.
std::uint64_t BlockFinder::find_stored(std::uint64_t first, std::uint64_t end) const noexcept {
    constexpr std::size_t kSizes = 4;
    for (auto byte = static_cast<std::size_t>((first + 3 + 7) / 8); byte + kSizes <= bytes_.size(); ++byte) {
        const std::uint64_t bit = byte * 8 - 3;
        if (bit >= end) break;
        std::uint32_t sizes = 0;
        std::memcpy(&sizes, bytes_.data() + byte, sizeof sizes);
        if (((sizes >> 16) ^ (sizes & 0xFFFF)) == 0xFFFF && bytes_[byte - 1] >> 5 == 0) return bit;
    }
    return end;
}

std::uint64_t BlockFinder::find_member(std::uint64_t first, std::uint64_t end) const noexcept {
    constexpr std::array<std::uint8_t, 3> kMagic = {0x1F, 0x8B, 8};
    const auto from = bytes_.begin() + static_cast<std::ptrdiff_t>((first + 7) / 8);
    const auto to =
        bytes_.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>((end + 7) / 8 + 2, bytes_.size()));
    const auto found = from < to ? std::search(from, to, kMagic.begin(), kMagic.end()) : to;
    return found == to ? end : std::min(static_cast<std::uint64_t>(found - bytes_.begin()) * 8, end);
}

std::optional<BlockStart> BlockFinder::at(std::uint64_t bit) noexcept {
    BitReader reader(bytes_, bit);
    if (!reader.has(3)) return {};
    const std::uint64_t kind = reader.take(3);
    if (kind == 4 && is_dynamic(bit)) return BlockStart{BlockStart::Kind::kDynamic, bit};
    if (kind != 0) return {};
    // All bits up to the size must be zeros for find() to report the last of them.
    const unsigned fill = reader.count() % 8;
    if (reader.take(fill) != 0 || !reader.has(32)) return {};
    return BlockStart{BlockStart::Kind::kStored, reader.bit() - 3};
}

}  // namespace cleave
