#include "base/json_string.h"

#include <algorithm>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/bits.h"
#include "base/utf8.h"

namespace cleave {
namespace {

constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101;
constexpr std::uint64_t kTops = 0x8080'8080'8080'8080;

// The lowest bit set marks the first byte of the eight that is not plain text. Bits above it may be wrong, because a
// subtraction borrows from the bytes above.
std::uint64_t special_bytes(std::uint64_t eight) {
    const auto zeros = [](std::uint64_t x) { return (x - kOnes) & ~x & kTops; };
    const std::uint64_t controls = (eight - kOnes * ' ') & ~eight & kTops;
    return zeros(eight ^ (kOnes * '"')) | zeros(eight ^ (kOnes * '\\')) | controls | (eight & kTops);
}

bool is_plain(std::uint8_t byte) { return byte >= ' ' && byte < 0x80 && byte != '"' && byte != '\\'; }

constexpr unsigned kNoDigit = 16;

unsigned hex_digit(std::uint8_t byte) {
    if (byte >= '0' && byte <= '9') return byte - unsigned{'0'};
    const unsigned letter = byte | 0x20U;
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : kNoDigit;
}

// The number in \uXXXX, whose backslash is at `at`.
unsigned code_unit(const std::uint8_t* at) {
    return hex_digit(at[2]) << 12U | hex_digit(at[3]) << 8U | hex_digit(at[4]) << 4U | hex_digit(at[5]);
}

constexpr std::ptrdiff_t kUnitSize = 6;  // of \uXXXX

bool is_surrogate(unsigned unit, unsigned first) { return (unit & 0xFC00U) == first; }

// A character of a string. Any other bytes than an escape sequence are passed on one by one.
struct Character {
    std::array<std::uint8_t, 4> bytes;
    std::uint8_t size;           // of the text
    const std::uint8_t* behind;  // the byte after what stands for it
};

std::uint8_t low_bits(std::uint32_t code, unsigned shift) {
    return static_cast<std::uint8_t>(0x80U | (code >> shift & 0x3FU));
}

Character encoded(std::uint32_t code, const std::uint8_t* behind) {
    const auto lead = [&](unsigned mark, unsigned shift) { return static_cast<std::uint8_t>(mark | code >> shift); };
    if (code < 0x80) return {{lead(0, 0)}, 1, behind};
    if (code < 0x800) return {{lead(0xC0, 6), low_bits(code, 0)}, 2, behind};
    if (code < 0x1'0000) return {{lead(0xE0, 12), low_bits(code, 6), low_bits(code, 0)}, 3, behind};
    return {{lead(0xF0, 18), low_bits(code, 12), low_bits(code, 6), low_bits(code, 0)}, 4, behind};
}

Character next_of(const std::uint8_t* at, const std::uint8_t* end) {
    if (*at != '\\') return {{*at}, 1, at + 1};
    switch (at[1]) {
        case 'b': return {{'\b'}, 1, at + 2};
        case 'f': return {{'\f'}, 1, at + 2};
        case 'n': return {{'\n'}, 1, at + 2};
        case 'r': return {{'\r'}, 1, at + 2};
        case 't': return {{'\t'}, 1, at + 2};
        case 'u': break;
        default: return {{at[1]}, 1, at + 2};
    }
    const unsigned unit = code_unit(at);
    const std::uint8_t* const next = at + kUnitSize;
    const bool has_next = end - next >= kUnitSize && next[0] == '\\' && next[1] == 'u';
    if (is_surrogate(unit, 0xD800) && has_next && is_surrogate(code_unit(next), 0xDC00)) {
        const std::uint32_t code = 0x1'0000U + ((unit & 0x3FFU) << 10U | (code_unit(next) & 0x3FFU));
        return encoded(code, next + kUnitSize);
    }
    return encoded(unit, next);
}

// The letter of an escape sequence of two bytes, or 0.
char short_escape(std::uint8_t byte) {
    switch (byte) {
        case '\b': return 'b';
        case '\t': return 't';
        case '\n': return 'n';
        case '\f': return 'f';
        case '\r': return 'r';
        case '"':
        case '\\': return static_cast<char>(byte);
        default: return 0;
    }
}

}  // namespace

const std::uint8_t* skip_plain_text(const std::uint8_t* at, const std::uint8_t* end) {
#ifdef __SSE2__  // which every x86-64 processor has
    for (constexpr std::ptrdiff_t kStep = sizeof(__m128i); end - at >= kStep; at += kStep) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        // As signed numbers, bytes from 0x80 on are less than a blank too.
        __m128i special = _mm_cmplt_epi8(bytes, _mm_set1_epi8(' '));
        special = _mm_or_si128(special, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
        special = _mm_or_si128(special, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
        const auto mask = static_cast<std::uint32_t>(_mm_movemask_epi8(special));
        if (mask != 0) return at + first_bit(mask);
    }
#endif
    for (std::uint64_t eight = 0; end - at >= static_cast<std::ptrdiff_t>(sizeof eight); at += sizeof eight) {
        std::memcpy(&eight, at, sizeof eight);
        const std::uint64_t special = special_bytes(eight);
        if (special != 0) return at + first_bit(special) / 8;
    }
    while (at != end && is_plain(*at)) ++at;
    return at;
}

const std::uint8_t* skip_escape(const std::uint8_t* at, const std::uint8_t* end) {
    if (end - at < 2) return nullptr;
    if (at[1] != 'u') {
        const bool is_known = std::string_view("\"\\/bfnrt").find(static_cast<char>(at[1])) != std::string_view::npos;
        return is_known ? at + 2 : nullptr;
    }
    if (end - at < kUnitSize) return nullptr;
    const bool is_unit = std::all_of(at + 2, at + kUnitSize, [](std::uint8_t c) { return hex_digit(c) != kNoDigit; });
    return is_unit ? at + kUnitSize : nullptr;
}

std::uint64_t write_json_text(const std::uint8_t* at, const std::uint8_t* end, std::uint8_t* out) {
    const std::uint8_t* const begin = out;
    while (at != end) {
        const Character next = next_of(at, end);
        out = std::copy_n(next.bytes.begin(), next.size, out);
        at = next.behind;
    }
    return static_cast<std::uint64_t>(out - begin);
}

bool has_lone_surrogate(const std::uint8_t* at, const std::uint8_t* end) {
    while (at != end) {
        at = static_cast<const std::uint8_t*>(std::memchr(at, '\\', static_cast<std::size_t>(end - at)));
        if (at == nullptr) return false;
        const Character next = next_of(at, end);
        if (next.size == 3 && next.bytes[0] == 0xED && next.bytes[1] >= 0xA0) return true;
        at = next.behind;
    }
    return false;
}

bool is_json_text(const std::uint8_t* at, const std::uint8_t* end, std::string_view text) {
    const auto size = static_cast<std::size_t>(end - at);
    if (size < text.size()) return false;
    if (size == 0 || std::memchr(at, '\\', size) == nullptr)
        return size == text.size() && (size == 0 || std::memcmp(at, text.data(), size) == 0);
    while (at != end) {
        const Character next = next_of(at, end);
        const std::string_view bytes(reinterpret_cast<const char*>(next.bytes.data()), next.size);
        if (!text.starts_with(bytes)) return false;
        text.remove_prefix(bytes.size());
        at = next.behind;
    }
    return text.empty();
}

std::optional<std::uint64_t> escaped_size(std::span<const std::uint8_t> text) {
    std::uint64_t size = text.size();
    const std::uint8_t* at = text.data();
    const std::uint8_t* const end = at + text.size();
    for (;;) {
        at = skip_plain_text(at, end);
        if (at == end) return size;
        const std::uint64_t taken = utf8_size(at, end);
        if (taken == 0) return std::nullopt;
        if (taken == 1) size += short_escape(*at) != 0 ? 1 : static_cast<std::uint64_t>(kUnitSize) - 1;
        at += taken;
    }
}

void write_escaped(std::span<const std::uint8_t> text, std::uint8_t* out) {
    constexpr std::string_view kHex = "0123456789abcdef";
    const std::uint8_t* at = text.data();
    for (const std::uint8_t* const end = at + text.size(); at != end; ++at) {
        const std::uint8_t* const behind = skip_plain_text(at, end);
        out = std::copy(at, behind, out);
        at = behind;
        if (at == end) return;
        const char letter = short_escape(*at);
        if (letter != 0) {
            *out++ = '\\';
            *out++ = static_cast<std::uint8_t>(letter);
        } else if (*at < ' ') {
            out = std::ranges::copy(std::string_view("\\u00"), out).out;
            *out++ = static_cast<std::uint8_t>(kHex[*at >> 4U]);
            *out++ = static_cast<std::uint8_t>(kHex[*at & 0xFU]);
        } else {
            *out++ = *at;
        }
    }
}

}  // namespace cleave
