#include "features/compressed/inflate/huffman.h"

#include <algorithm>
#include <bit>

namespace cleave {
namespace {

using Counts = std::array<std::uint16_t, kMaxCodeBits + 1>;

Counts count_lengths(std::span<const std::uint8_t> lengths) noexcept {
    Counts counts{};
    for (const std::uint8_t length : lengths) ++counts[length];
    return counts;
}

// How many of the 2^15 strings of 15 bits have no meaning; negative if some have two.
int unused_strings(const Counts& counts) noexcept {
    int unused = 1 << kMaxCodeBits;
    for (unsigned bits = 1; bits <= kMaxCodeBits; ++bits) unused -= counts[bits] << (kMaxCodeBits - bits);
    return unused;
}

// Calls put(symbol, bits, code) for each symbol in the order of the codes. The first bit of a code is the lowest bit of
// `code`, as in the stream.
template <class Put>
void for_each_code(std::span<const std::uint8_t> lengths, const Counts& counts, const Put& put) noexcept {
    std::array<std::uint16_t, kMaxCodeBits + 1> places{};  // of the next symbol with that length
    for (unsigned bits = 1; bits < kMaxCodeBits; ++bits)
        places[bits + 1] = static_cast<std::uint16_t>(places[bits] + counts[bits]);
    std::array<std::uint16_t, kLiteralSymbols> sorted;
    for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol) {
        if (lengths[symbol] > 0) sorted[places[lengths[symbol]]++] = static_cast<std::uint16_t>(symbol);
    }
    std::size_t next = 0;
    std::uint32_t code = 0;
    for (unsigned bits = 1; bits <= kMaxCodeBits; ++bits) {
        for (unsigned i = 0; i < counts[bits]; ++i) {
            put(sorted[next++], bits, code);
            // Adds 1 to the code, whose lowest bit is its last one, here the highest: the trailing ones become zeros.
            const std::uint32_t ones = ~code & ((1U << bits) - 1);
            if (ones == 0) return;
            const std::uint32_t highest = std::bit_floor(ones);
            code = (code & (highest - 1)) | highest;
        }
    }
}

constexpr unsigned kRootBits = std::countr_zero(LiteralTable::kRootSize);

constexpr Code kInvalidCode = Code::other(Code::Kind::kInvalid, 0, 1, 0);

// The meanings of the symbols: RFC 1951, section 3.2.5.
constexpr std::array<Code, kLiteralSymbols> make_literal_symbols() {
    std::array<Code, kLiteralSymbols> symbols{};
    for (unsigned i = 0; i < 256; ++i) symbols[i] = Code::literal(static_cast<std::uint8_t>(i), 0);
    symbols[256] = Code::other(Code::Kind::kEnd, 0, 0, 0);
    unsigned base = 3;
    for (unsigned i = 0; i < 28; ++i) {
        const unsigned extra = i < 8 ? 0 : i / 4 - 1;
        symbols[257 + i] = Code::other(Code::Kind::kBase, base, 0, extra);
        base += 1U << extra;
    }
    symbols[285] = Code::other(Code::Kind::kBase, 258, 0, 0);
    symbols[286] = symbols[287] = Code::other(Code::Kind::kInvalid, 0, 0, 0);
    return symbols;
}

constexpr std::array<Code, kDistanceSymbols> make_distance_symbols() {
    std::array<Code, kDistanceSymbols> symbols{};
    unsigned base = 1;
    for (unsigned i = 0; i < 30; ++i) {
        const unsigned extra = i < 4 ? 0 : i / 2 - 1;
        symbols[i] = Code::other(Code::Kind::kBase, base, 0, extra);
        base += 1U << extra;
    }
    symbols[30] = symbols[31] = Code::other(Code::Kind::kInvalid, 0, 0, 0);
    return symbols;
}

constexpr auto kLiteralMeanings = make_literal_symbols();
constexpr auto kDistanceMeanings = make_distance_symbols();

constexpr Code with_bits(Code meaning, unsigned bits) noexcept {
    if (meaning.is_literal()) return Code::literal(meaning.literal(), bits);
    return Code::other(meaning.kind(), meaning.value(), bits, meaning.bits());
}

// Grows the filled front of a table from 2^from to 2^to entries, by repeating it.
template <class Entry>
void repeat(Entry* entries, unsigned from, unsigned to) noexcept {
    for (unsigned bits = from; bits < to; ++bits)
        std::copy_n(entries, std::size_t{1} << bits, entries + (std::size_t{1} << bits));
}

}  // namespace

// Codes come in the order of their lengths. While the codes are shorter than the index, only the front of the table
// that is indexed with as many bits as the current code has is kept; it is repeated when the codes become longer.
template <unsigned kBits, std::size_t kSymbols>
bool CodeTable<kBits, kSymbols>::build(std::span<const std::uint8_t> lengths, std::span<const Code> symbols) noexcept {
    const Counts counts = count_lengths(lengths);
    if (const int unused = unused_strings(counts); unused != 0) {
        const auto used = static_cast<int>(lengths.size()) - counts[0];
        if (unused < 0 || used > 1 || (used == 1 && counts[1] != 1)) return false;
        entries_.fill(kInvalidCode);
    }
    Code* const entries = entries_.data();
    unsigned filled_bits = 0;
    std::size_t end = kRootSize;  // of the second tables
    std::uint32_t prefix = ~std::uint32_t{0};
    std::size_t second = 0;
    constexpr unsigned kSecondBits = kMaxCodeBits - kBits;
    for_each_code(lengths, counts, [&](std::size_t symbol, unsigned bits, std::uint32_t code) {
        const Code entry = with_bits(symbols[symbol], bits);
        if (bits <= kBits) {
            repeat(entries, filled_bits, bits);
            filled_bits = bits;
            entries[code] = entry;
            return;
        }
        repeat(entries, filled_bits, kBits);
        filled_bits = kBits;
        if (const std::uint32_t first = code & (kRootSize - 1); first != prefix) {
            prefix = first;
            second = end;
            end += std::size_t{1} << kSecondBits;
            entries[first] = Code::other(Code::Kind::kTable, static_cast<unsigned>(second), kBits, 0);
        }
        const unsigned rest = bits - kBits;
        for (std::size_t i = code >> kBits; i < std::size_t{1} << kSecondBits; i += std::size_t{1} << rest)
            entries[second + i] = entry;
    });
    repeat(entries, filled_bits, kBits);
    return true;
}

template class CodeTable<11, kLiteralSymbols>;
template class CodeTable<10, kDistanceSymbols>;

bool BlockCodes::build(std::span<const std::uint8_t> literals, std::span<const std::uint8_t> distances) noexcept {
    is_fixed_ = false;
    if (!singles_.build(literals, kLiteralMeanings) || !distances_.build(distances, kDistanceMeanings)) return false;
    combine(literals);
    return true;
}

// RFC 1951, section 3.2.6.
void BlockCodes::build_fixed() noexcept {
    if (is_fixed_) return;
    std::array<std::uint8_t, kLiteralSymbols> literals;
    std::fill_n(literals.begin(), 144, std::uint8_t{8});
    std::fill_n(literals.begin() + 144, 112, std::uint8_t{9});
    std::fill_n(literals.begin() + 256, 24, std::uint8_t{7});
    std::fill_n(literals.begin() + 280, 8, std::uint8_t{8});
    std::array<std::uint8_t, kDistanceSymbols> distances;
    distances.fill(5);
    build(literals, distances);
    is_fixed_ = true;
}

namespace {

struct ShortCode {
    std::uint32_t code;
    Code entry;
};

// Codes that are shorter than the index, in the order of their lengths.
template <std::size_t kMost>
class ShortCodes {
public:
    void add(std::uint32_t code, Code entry) noexcept { codes_[count_++] = {code, entry}; }
    const ShortCode* begin() const noexcept { return codes_.data(); }
    const ShortCode* end() const noexcept { return codes_.data() + count_; }

private:
    std::array<ShortCode, kMost> codes_;
    std::size_t count_ = 0;
};

constexpr std::size_t kEndSymbol = 256;
using SeveralTable = std::array<Lookup, LiteralTable::kRootSize>;

void put(SeveralTable& table, std::uint32_t code, unsigned bits, Lookup found) noexcept {
    for (std::size_t i = code; i < table.size(); i += std::size_t{1} << bits) table[i] = found;
}

// Puts each length behind literals.
void put_lengths(SeveralTable& table, const ShortCodes<kLiteralSymbols - kEndSymbol>& lengths, std::uint32_t code,
                 unsigned bits, Lookup literals) noexcept {
    for (const ShortCode& length : lengths) {
        const unsigned all = bits + length.entry.code_bits();
        if (all > kRootBits) break;
        put(table, code | length.code << bits, all, literals + Lookup::last(length.entry, bits));
    }
}

}  // namespace

// Puts each code that may follow a literal behind it, as far as they fit into the index. All loops go from short codes
// to long ones, and what is longer replaces what it begins with.
void BlockCodes::combine(std::span<const std::uint8_t> lengths) noexcept {
    const auto& singles = singles_.entries();
    const Counts counts = count_lengths(lengths);
    if (unused_strings(counts) != 0) {
        std::transform(singles.begin(), singles.begin() + several_.size(), several_.begin(),
                       [](Code code) { return Lookup(code); });
        return;
    }
    ShortCodes<kEndSymbol> short_literals;
    ShortCodes<kLiteralSymbols - kEndSymbol> short_lengths;
    unsigned filled_bits = 0;
    for_each_code(lengths, counts, [&](std::size_t symbol, unsigned bits, std::uint32_t code) {
        repeat(several_.data(), filled_bits, std::min(bits, kRootBits));
        filled_bits = std::min(bits, kRootBits);
        code &= LiteralTable::kRootSize - 1;
        several_[code] = Lookup(singles[code]);
        if (bits >= kRootBits) return;
        if (symbol < kEndSymbol) short_literals.add(code, singles[code]);
        if (symbol > kEndSymbol) short_lengths.add(code, singles[code]);
    });
    repeat(several_.data(), filled_bits, kRootBits);
    const bool has_lengths = short_lengths.begin() != short_lengths.end();
    const unsigned shortest = has_lengths ? short_lengths.begin()->entry.code_bits() : kRootBits;
    for (const ShortCode& first : short_literals) {
        const unsigned bits = first.entry.bits();
        const Lookup one(first.entry);
        for (const ShortCode& second : short_literals) {
            const unsigned both = bits + second.entry.bits();
            if (both > kRootBits) break;
            const std::uint32_t code = first.code | second.code << bits;
            const Lookup two = one + Lookup::second(second.entry);
            put(several_, code, both, two);
            if (both + shortest <= kRootBits) put_lengths(several_, short_lengths, code, both, two);
        }
        put_lengths(several_, short_lengths, first.code, bits, one);
    }
}

bool LengthCodes::build(const std::array<std::uint8_t, kSymbols>& lengths) noexcept {
    const Counts counts = count_lengths(lengths);
    if (counts[0] == kSymbols) {
        entries_.fill({0, 1});
        return true;
    }
    if (unused_strings(counts) != 0) return false;
    for_each_code(lengths, counts, [&](std::size_t symbol, unsigned bits, std::uint32_t code) {
        for (std::size_t i = code; i < entries_.size(); i += std::size_t{1} << bits)
            entries_[i] = {static_cast<std::uint8_t>(symbol), static_cast<std::uint8_t>(bits)};
    });
    return true;
}

}  // namespace cleave
