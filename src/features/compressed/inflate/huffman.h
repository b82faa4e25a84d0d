// Tables that decode the Huffman codes of deflate (RFC 1951, section 3.2). Knows nothing about blocks.
//
// A table is looked up with the next bits of the stream. An entry says what they stand for and how many bits that
// takes:
//
//     bit   31 .. 8                              6      5 .. 0
//           a literal                            1      bits of its code
//           kind, bits of the code, base         0      bits of the code and of the extra bits that follow it
//
// Codes are at most 15 bits long, but nearly all symbols of a stream have short ones. The table is therefore indexed
// with 11 bits (10 for distances); longer codes have an entry that leads to a second table. Where several codes fit
// into 11 bits, one lookup decodes them all: up to two literals, and a length after them (see Lookup). Text has many
// of these. A lookup takes 7 cycles, whatever it yields, because the place of the next code is known only once this one
// is decoded; and the fewer lookups, the fewer branches that depend on the data, each of which is often mispredicted.
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
    // kBase: `value` is that of a length or distance, to which the extra bits are added, and has at most 15 bits.
    // kTable: it is where the second table begins.
    static constexpr Code other(Kind kind, unsigned value, unsigned code_bits, unsigned extra_bits) noexcept {
        return Code(value << 16 | static_cast<unsigned>(kind) << 12 | code_bits << 8 | (code_bits + extra_bits));
    }

    // All the bits to drop.
    constexpr unsigned bits() const noexcept { return word_ & 63U; }
    constexpr bool is_literal() const noexcept { return (word_ >> 6 & 1U) != 0; }
    constexpr std::uint8_t literal() const noexcept { return static_cast<std::uint8_t>(word_ >> 8); }

    // Only if it is not a literal.
    constexpr Kind kind() const noexcept { return static_cast<Kind>(word_ >> 12 & 15U); }
    constexpr unsigned code_bits() const noexcept { return word_ >> 8 & 15U; }
    constexpr unsigned value() const noexcept { return word_ >> 16; }
    // The base plus the extra bits. `held` begins with the code.
    constexpr unsigned value_with_extra(std::uint64_t held) const noexcept {
        return value() + static_cast<unsigned>((held & ((std::uint64_t{1} << bits()) - 1)) >> code_bits());
    }

    constexpr std::uint32_t word() const noexcept { return word_; }

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
    // The code in the second table that begins at `begin`, the value of a kTable.
    Code look_up_second(unsigned begin, std::uint64_t held) const noexcept {
        return entries_[begin + ((held & ((std::uint64_t{1} << kMaxCodeBits) - 1)) >> kRootBits)];
    }

    // `lengths` are the bits of each symbol's code, 0 if it has none; `symbols` are their meanings, with the number of
    // extra bits, but without codes. Returns false if the lengths form no code.
    bool build(std::span<const std::uint8_t> lengths, std::span<const Code> symbols) noexcept;

    std::array<Code, kSize>& entries() noexcept { return entries_; }
    const std::array<Code, kSize>& entries() const noexcept { return entries_; }

private:
    std::array<Code, kSize> entries_;
};

// What one lookup yields: up to two literals, and the code after them if it fits and is not a literal.
//
//     bit   55 .. 32                                  23 .. 8    7 6    5 .. 0
//           kind, bits before extra bits, base:       literals   0-2    bits of all the codes, and extra bits
//           as in a Code
//
// The word of several codes is the sum of what each adds to it.
class Lookup {
public:
    constexpr Lookup() noexcept = default;
    // Of this code alone.
    explicit constexpr Lookup(Code code) noexcept : word_(code.is_literal() ? code.word() : tail(code) | code.bits()) {}

    // What a literal adds that is the second one.
    static constexpr Lookup second(Code code) noexcept {
        return Lookup(code.bits() | 1U << 6 | std::uint32_t{code.literal()} << 16);
    }
    // What a code adds that is no literal, behind literals whose codes have `bits` bits. With its own they are 15 at
    // most.
    static constexpr Lookup last(Code code, unsigned bits) noexcept {
        return Lookup(tail(code) + (std::uint64_t{bits} << 32) + code.bits());
    }
    constexpr Lookup operator+(Lookup other) const noexcept { return Lookup(word_ + other.word_); }

    // All the bits to drop.
    constexpr unsigned bits() const noexcept { return word_ & 63U; }
    constexpr unsigned literal_count() const noexcept { return word_ >> 6 & 3U; }
    // The literals, the first of them in the lowest byte. Other bytes have no meaning.
    constexpr std::uint32_t literal_bytes() const noexcept { return static_cast<std::uint32_t>(word_) >> 8; }
    constexpr bool has_only_literals() const noexcept { return word_ >> 32 == 0; }

    // Of the code after the literals.
    constexpr Code::Kind kind() const noexcept { return static_cast<Code::Kind>(word_ >> 36 & 15U); }
    constexpr unsigned value() const noexcept { return static_cast<unsigned>(word_ >> 40); }
    // As that of Code. `held` begins with the literals.
    constexpr unsigned value_with_extra(std::uint64_t held) const noexcept {
        return value() + static_cast<unsigned>((held & ((std::uint64_t{1} << bits()) - 1)) >> (word_ >> 32 & 15U));
    }

private:
    explicit constexpr Lookup(std::uint64_t word) noexcept : word_(word) {}

    static constexpr std::uint64_t tail(Code code) noexcept { return std::uint64_t{code.word() >> 8} << 32; }

    std::uint64_t word_ = 0;
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
    // As the lookup in singles(), but of several codes at once.
    Lookup look_up(std::uint64_t held) const noexcept { return several_[held & (LiteralTable::kRootSize - 1)]; }
    const DistanceTable& distances() const noexcept { return distances_; }

private:
    void combine(std::span<const std::uint8_t> lengths) noexcept;

    LiteralTable singles_;
    std::array<Lookup, LiteralTable::kRootSize> several_;
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
