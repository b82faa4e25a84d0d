// CRC32C, computed one bit at a time. Shares no code with the library.
#pragma once

#include <cstdint>
#include <string_view>

namespace cleave::test {

// The polynomial 11EDC6F41 (RFC 3720, section 12.1), bit-reversed here.
inline std::uint32_t crc32c_by_bits(std::string_view bytes) {
    std::uint32_t remainder = 0xFFFFFFFF;
    for (const char c : bytes) {
        remainder ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit) remainder = remainder >> 1 ^ ((remainder & 1) != 0 ? 0x82F63B78 : 0);
    }
    return ~remainder;
}

}  // namespace cleave::test
