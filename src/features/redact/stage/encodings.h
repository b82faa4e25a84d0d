// Bytes as text: hex digits and base64url without padding (RFC 4648, section 5).
// Compiles for a GPU too.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>

#include "features/redact/stage/value.h"

namespace cleave {

CLEAVE_DEVICE constexpr std::uint64_t hex_size(std::uint64_t bytes) { return 2 * bytes; }
CLEAVE_DEVICE constexpr std::uint64_t base64url_size(std::uint64_t bytes) { return (8 * bytes + 5) / 6; }

// Uses lower case. Returns hex_size(size).
CLEAVE_DEVICE inline std::uint64_t write_hex(const std::uint8_t* bytes, std::uint64_t size, std::uint8_t* out) {
    const char* const digits = "0123456789abcdef";
    for (std::uint64_t i = 0; i < size; ++i) {
        out[2 * i] = static_cast<std::uint8_t>(digits[bytes[i] >> 4]);
        out[2 * i + 1] = static_cast<std::uint8_t>(digits[bytes[i] & 15]);
    }
    return hex_size(size);
}

// Three bytes become four 6-bit digits, stored as one word. One or two bytes at the end become two or three digits,
// padded with zero bits. Returns base64url_size(size).
CLEAVE_DEVICE inline std::uint64_t write_base64url(const std::uint8_t* bytes, std::uint64_t size, std::uint8_t* out) {
    const char* const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const auto word_of = [digits](std::uint32_t first, std::uint32_t second, std::uint32_t third) {
        const std::uint32_t bits = first << 16 | second << 8 | third;
        std::uint32_t word = 0;
        for (unsigned i = 0; i < 4; ++i) {
            word |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(digits[bits >> (18 - 6 * i) & 63])) << 8 * i;
        }
        return word;
    };
    const std::uint64_t rest = size % 3;
    for (const std::uint8_t* const end = bytes + (size - rest); bytes != end; bytes += 3, out += 4) {
        const std::uint32_t word = word_of(bytes[0], bytes[1], bytes[2]);
        std::memcpy(out, &word, sizeof word);
    }
    if (rest > 0) {
        const std::uint32_t word = word_of(bytes[0], rest > 1 ? bytes[1] : 0, 0);
        std::memcpy(out, &word, rest + 1);
    }
    return base64url_size(size);
}

// Reads what write_base64url() writes: `size` digits. Returns the number of bytes written, at most 3 / 4 of `size`, or
// nothing if the text is not such: another byte, a digit alone at the end, or bits after the last byte that are not 0.
inline std::optional<std::uint64_t> read_base64url(const std::uint8_t* digits, std::uint64_t size, std::uint8_t* out) {
    const auto value_of = [](std::uint8_t digit) -> std::uint32_t {
        if (digit >= 'A' && digit <= 'Z') return digit - std::uint32_t{'A'};
        if (digit >= 'a' && digit <= 'z') return digit - std::uint32_t{'a'} + 26;
        if (digit >= '0' && digit <= '9') return digit - std::uint32_t{'0'} + 52;
        return digit == '-' ? 62 : digit == '_' ? 63 : UINT32_MAX;
    };
    if (size % 4 == 1) return std::nullopt;
    std::uint8_t* at = out;
    std::uint32_t bits = 0;
    unsigned count = 0;  // of bits that are not written yet
    for (std::uint64_t i = 0; i < size; ++i) {
        const std::uint32_t digit = value_of(digits[i]);
        if (digit == UINT32_MAX) return std::nullopt;
        bits = bits << 6 | digit;
        count += 6;
        if (count < 8) continue;
        count -= 8;
        *at++ = static_cast<std::uint8_t>(bits >> count);
        bits &= (1U << count) - 1;
    }
    if (bits != 0) return std::nullopt;
    return static_cast<std::uint64_t>(at - out);
}

}  // namespace cleave
