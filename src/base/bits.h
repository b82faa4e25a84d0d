// Counts and finds bits in code that must run on any CPU. On CPUs without a popcount instruction, std::popcount calls a
// library function that looks bytes up in a table.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cleave {

constexpr std::size_t kWordBits = 64;

// Sums the bits in groups of two, four and eight; a multiplication then sums the bytes.
constexpr std::uint32_t count_bits(std::uint64_t bits) {
    bits -= (bits >> 1) & 0x5555555555555555;
    bits = (bits & 0x3333333333333333) + ((bits >> 2) & 0x3333333333333333);
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0F;
    return static_cast<std::uint32_t>(bits * 0x0101010101010101 >> 56);
}

// The index of the lowest set bit. `bits` must not be 0.
constexpr unsigned first_bit(std::uint64_t bits) { return static_cast<unsigned>(std::countr_zero(bits)); }

// At most 8 bytes.
inline std::uint64_t number_in(std::span<const std::uint8_t> bytes) noexcept {
    std::uint64_t number = 0;
    for (std::size_t i = bytes.size(); i > 0; --i) number = number << 8 | bytes[i - 1];
    return number;
}

}  // namespace cleave
