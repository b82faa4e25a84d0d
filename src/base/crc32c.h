// Castagnoli's CRC-32C, as used by iSCSI (RFC 3720, appendix B.4): the CRC of "123456789" is E3069283.
//
// Processes eight bytes per step ("slicing by eight": Kounavis and Berry, A Systematic Approach to Building High
// Performance Software-based CRC Generators, 2005). The remainder of eight bytes is the XOR of eight remainders, one
// for each byte followed by as many zero bytes as there are bytes after it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cleave {

// Row k holds the remainder of each byte value followed by k zero bytes.
using Crc32cTable = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Crc32cTable make_crc32c_table() {
    constexpr std::uint32_t kPolynomial = 0x82F63B78;  // the lowest bit stands for the highest power
    Crc32cTable table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t remainder = byte;
        for (int bit = 0; bit < 8; ++bit) remainder = remainder >> 1U ^ (remainder & 1U) * kPolynomial;
        table[0][byte] = remainder;
    }
    for (std::size_t row = 1; row < table.size(); ++row) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t before = table[row - 1][byte];
            table[row][byte] = before >> 8U ^ table[0][before & 0xFFU];
        }
    }
    return table;
}

inline constexpr Crc32cTable kCrc32cTable = make_crc32c_table();

class Crc32c {
public:
    // Adds the next bytes. How the input is split across calls makes no difference.
    void add(std::span<const std::uint8_t> bytes) noexcept {
        for (; bytes.size() >= kStep; bytes = bytes.subspan(kStep)) {
            std::uint32_t next = 0;
            for (std::size_t i = 0; i < kStep; ++i) {
                const std::uint32_t before = i < sizeof remainder_ ? remainder_ >> (8 * i) : 0;
                next ^= kCrc32cTable[kStep - 1 - i][(before ^ bytes[i]) & 0xFFU];
            }
            remainder_ = next;
        }
        for (const std::uint8_t byte : bytes)
            remainder_ = remainder_ >> 8U ^ kCrc32cTable[0][(remainder_ ^ byte) & 0xFFU];
    }

    // The CRC of all bytes so far.
    std::uint32_t value() const noexcept { return ~remainder_; }

private:
    static constexpr std::size_t kStep = std::tuple_size_v<Crc32cTable>;

    std::uint32_t remainder_ = 0xFFFFFFFF;
};

}  // namespace cleave
