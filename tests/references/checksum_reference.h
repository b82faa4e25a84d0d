// CRC32C, a bit at a time. Shares no code with the library.
#pragma once

#include <cstdint>
#include <string_view>

namespace cleave::test {

// RFC 3720, section 12.1: the polynomial 11EDC6F41, here with its bits the other way round.
inline std::uint32_t crc32c_by_bits(std::string_view bytes) {
    std::uint32_t remainder = 0xFFFFFFFF;
    for (const char c : bytes) {
        remainder ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit) remainder = remainder >> 1 ^ ((remainder & 1) != 0 ? 0x82F63B78 : 0);
    }
    return ~remainder;
}

}  // namespace cleave::test
