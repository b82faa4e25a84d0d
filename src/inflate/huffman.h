// Tables that decode the Huffman codes of deflate (RFC 1951, section 3.2). Knows nothing about blocks.
//
// A table is looked up with the next bits of the stream. An entry says what they stand for and how many bits that
// takes:
//
//     bit   31 .. 8                              7 6    5 .. 0
//           one or two literals                  1-2    bits of their codes
//           kind, bits of the code, base         0      bits of the code and of the extra bits that follow it
//
// Codes are at most 15 bits long, but nearly all symbols of a stream have short ones. The table is therefore indexed
// with 12 bits (10 for distances); longer codes have an entry that leads to a second table. Where several codes of
// literals fit into 12 bits, one lookup decodes them all. Text has many of these: a lookup takes 7 cycles, whatever it
// yields, because the place of the next code is known only once this one is decoded.
//
// Which lengths form a code is decided as in zlib: no prefix may have two meanings, and each must have one, except that
// a code may consist of a single code of one bit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cleave {

constexpr unsigned kMaxCodeBits = 15;
constexpr std::size_t kLiteralSymbols = 288;  // includes two that fixed codes have, but no stream may use
constexpr std::size_t kDistanceSymbols = 32;  // likewise

// An entry of a table.
class Code {
public:
    enum class Kind : std::uint8_t { kBase, kTable, kEnd, kInvalid };

    constexpr Code() noexcept = default;
    static constexpr Code literal(std::uint8_t literal, unsigned bits) noexcept {
        return Code(std::uint32_t{literal} << 8 | 1U << 6 | bits);
    }
    // Of two single literals.
    static constexpr Code pair(Code first, Code second) noexcept {
        return Code((first.word_ + second.bits() + (1U << 6)) | (second.word_ & 0xFF00U) << 8);
    }
    // kBase: `value` is that of a length or distance, to which the extra bits are added, and has at most 15 bits.
    // kTable: it is where the second table begins.
    static constexpr Code other(Kind kind, unsigned value, unsigned code_bits, unsigned extra_bits) noexcept {
        return Code(value << 16 | static_cast<unsigned>(kind) << 12 | code_bits << 8 | (code_bits + extra_bits));
    }

    // All the bits to drop.
    constexpr unsigned bits() const noexcept { return word_ & 63U; }
    constexpr unsigned literal_count() const noexcept { return word_ >> 6 & 3U; }
    // The literals, the first of them in the lowest byte. Bytes without a literal are 0.
    constexpr std::uint32_t literal_bytes() const noexcept { return word_ >> 8; }

    // Only if literal_count() is 0.
    constexpr Kind kind() const noexcept { return static_cast<Kind>(word_ >> 12 & 15U); }
    constexpr unsigned code_bits() const noexcept { return word_ >> 8 & 15U; }
    constexpr unsigned value() const noexcept { return word_ >> 16; }
    // The base plus the extra bits. `held` begins with the code.
    constexpr unsigned value_with_extra(std::uint64_t held) const noexcept {
        return value() + static_cast<unsigned>((held & ((std::uint64_t{1} << bits()) - 1)) >> code_bits());
    }

private:
    explicit constexpr Code(std::uint32_t word) noexcept : word_(word) {}

    std::uint32_t word_ = 0;
};

// For codes of at most `kRootBits` in the first table. A second table is for codes with the same first bits, of which
// there are at least two.
template <unsigned kRootBits, std::size_t kSymbols>
class CodeTable {
public:
    static constexpr std::size_t kRootSize = std::size_t{1} << kRootBits;
    static constexpr std::size_t kSize = kRootSize + (kSymbols / 2 << (kMaxCodeBits - kRootBits));

    Code look_up(std::uint64_t held) const noexcept { return entries_[held & (kRootSize - 1)]; }
    // The code in the second table, which `code` leads to.
    Code look_up_second(Code code, std::uint64_t held) const noexcept {
        return entries_[code.value() + ((held & ((std::uint64_t{1} << kMaxCodeBits) - 1)) >> kRootBits)];
    }

    // `lengths` are the bits of each symbol's code, 0 if it has none; `symbols` are their meanings, with the number of
    // extra bits, but without codes. Returns false if the lengths form no code.
    bool build(std::span<const std::uint8_t> lengths, std::span<const Code> symbols) noexcept;

    std::array<Code, kSize>& entries() noexcept { return entries_; }
    const std::array<Code, kSize>& entries() const noexcept { return entries_; }

private:
    std::array<Code, kSize> entries_;
};

using LiteralTable = CodeTable<11, kLiteralSymbols>;
using DistanceTable = CodeTable<10, kDistanceSymbols>;

// The codes of one block.
class BlockCodes {
public:
    // Returns false if the lengths form no codes. `literals` includes lengths and the end of the block.
    bool build(std::span<const std::uint8_t> literals, std::span<const std::uint8_t> distances) noexcept;
    void build_fixed() noexcept;

    const LiteralTable& singles() const noexcept { return singles_; }
    // As singles(), but with several literals in an entry.
    Code look_up(std::uint64_t held) const noexcept { return pairs_[held & (LiteralTable::kRootSize - 1)]; }
    const DistanceTable& distances() const noexcept { return distances_; }

private:
    void combine_literals(std::span<const std::uint8_t> lengths) noexcept;

    LiteralTable singles_;
    std::array<Code, LiteralTable::kRootSize> pairs_;
    DistanceTable distances_;
    bool is_fixed_ = false;
};

// The code of the code lengths: see RFC 1951, section 3.2.7.
class LengthCodes {
public:
    static constexpr std::size_t kSymbols = 19;
    static constexpr unsigned kMaxBits = 7;

    struct Entry {
        std::uint8_t symbol, bits;
    };

    // Returns false if the lengths form no code. If all lengths are 0, each bit stands for the symbol 0, as in zlib.
    bool build(const std::array<std::uint8_t, kSymbols>& lengths) noexcept;
    Entry look_up(std::uint64_t held) const noexcept { return entries_[held & (entries_.size() - 1)]; }

private:
    std::array<Entry, 1U << kMaxBits> entries_;
};

}  // namespace cleave
