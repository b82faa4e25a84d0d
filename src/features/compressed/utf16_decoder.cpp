// Most of the text of a CSV file is ASCII, so units are first taken in groups that compilers turn into vector code; the
// others one by one.
//
//     unit            UTF-8
//     0000 .. 007F    0xxxxxxx
//     0080 .. 07FF    110xxxxx 10xxxxxx
//     0800 .. FFFF    1110xxxx 10xxxxxx 10xxxxxx             except surrogates
//     D800 .. DBFF, then DC00 .. DFFF                        10 bits each, plus 10000:
//                     11110xxx 10xxxxxx 10xxxxxx 10xxxxxx
//
// simdutf would do this faster, but Debian 12 does not have it, and neither do the portable builds, whose libraries
// come from Debian's sources.
#include "features/compressed/utf16_decoder.h"

#include <string>

#include "cleave/error.h"

namespace cleave {
namespace {

constexpr std::size_t kGroup = 16;      // units
constexpr std::size_t kMostOfUnit = 3;  // bytes of UTF-8; a pair of units has 4
constexpr std::uint16_t kMark = 0xFEFF;
constexpr std::uint16_t kSwappedMark = 0xFFFE;

bool is_high(std::uint16_t unit) { return (unit & 0xFC00) == 0xD800; }
bool is_low(std::uint16_t unit) { return (unit & 0xFC00) == 0xDC00; }

template <bool kIsBig>
std::uint16_t unit_at(const std::uint8_t* bytes) {
    return static_cast<std::uint16_t>(kIsBig ? bytes[0] << 8 | bytes[1] : bytes[1] << 8 | bytes[0]);
}

// Copies a group if it is all ASCII.
template <bool kIsBig>
bool take_ascii(const std::uint8_t* from, std::uint8_t* to) {
    unsigned high = 0;
    for (std::size_t i = 0; i < kGroup; ++i) {
        const unsigned unit = unit_at<kIsBig>(from + 2 * i);
        high |= unit;
        to[i] = static_cast<std::uint8_t>(unit);
    }
    return high < 0x80;
}

std::uint8_t tail_byte(std::uint32_t character, unsigned shift) {
    return static_cast<std::uint8_t>(0x80 | (character >> shift & 0x3F));
}

}  // namespace

void Utf16Decoder::fail(const char* what, std::uint64_t offset) const {
    throw InputError(std::string(encoding_name(encoding_)) + " text " + what + " (byte " + std::to_string(offset) +
                     " before its conversion)");
}

// Takes the first two units.
void Utf16Decoder::check_mark(std::uint16_t unit) {
    const bool is_big = encoding_ == Encoding::kUtf16Be;
    if (units_ == 0) {
        if (unit == kSwappedMark) fail("that begins with the byte order mark of the other byte order", 0);
        has_mark_ = unit == kMark;
        has_bytes_mark_ = unit == (is_big ? 0xEFBB : 0xBBEF);
        return;
    }
    if (has_mark_ && unit == 0) fail("that begins with the byte order mark of UTF-32", 0);
    if (has_bytes_mark_ && (is_big ? unit >> 8U : unit & 0xFFU) == 0xBF)
        fail("that begins with the byte order mark of UTF-8", 0);
}

std::uint8_t* Utf16Decoder::append(std::uint8_t* to, std::uint16_t unit) {
    if (units_ < 2) check_mark(unit);
    const std::uint64_t offset = 2 * units_++;
    if (high_ != 0) {
        if (!is_low(unit)) fail("with an unpaired surrogate", offset - 2);
        const std::uint32_t character = 0x10000 + ((high_ & 0x3FFU) << 10) + (unit & 0x3FFU);
        high_ = 0;
        *to++ = static_cast<std::uint8_t>(0xF0 | character >> 18);
        *to++ = tail_byte(character, 12);
        *to++ = tail_byte(character, 6);
        *to++ = tail_byte(character, 0);
    } else if (unit < 0x80) {
        *to++ = static_cast<std::uint8_t>(unit);
    } else if (unit < 0x800) {
        *to++ = static_cast<std::uint8_t>(0xC0 | unit >> 6);
        *to++ = tail_byte(unit, 0);
    } else if (is_high(unit)) {
        high_ = unit;
    } else if (is_low(unit)) {
        fail("with an unpaired surrogate", offset);
    } else {
        *to++ = static_cast<std::uint8_t>(0xE0 | unit >> 12);
        *to++ = tail_byte(unit, 6);
        *to++ = tail_byte(unit, 0);
    }
    return to;
}

template <bool kIsBig>
std::uint8_t* Utf16Decoder::convert(std::span<const std::uint8_t> bytes, std::uint8_t* to) {
    if (has_odd_ && !bytes.empty()) {
        const std::uint8_t unit[] = {odd_, bytes.front()};
        to = append(to, unit_at<kIsBig>(unit));
        has_odd_ = false;
        bytes = bytes.subspan(1);
    }
    while (bytes.size() >= 2) {
        while (units_ > 1 && high_ == 0 && bytes.size() >= 2 * kGroup && take_ascii<kIsBig>(bytes.data(), to)) {
            to += kGroup;
            units_ += kGroup;
            bytes = bytes.subspan(2 * kGroup);
        }
        // After a group with another character, most often more of them follow.
        for (std::size_t i = 0; i < kGroup && bytes.size() >= 2; ++i) {
            to = append(to, unit_at<kIsBig>(bytes.data()));
            bytes = bytes.subspan(2);
        }
    }
    if (!bytes.empty()) odd_ = bytes.front();
    has_odd_ = has_odd_ || !bytes.empty();
    return to;
}

std::span<const std::uint8_t> Utf16Decoder::decode(std::span<const std::uint8_t> bytes) {
    // Room for the units in `bytes`, for one that is held, and for a group that proves not to be ASCII.
    const std::size_t most = kMostOfUnit * (bytes.size() / 2 + 2) + kGroup;
    if (text_.size() < most) text_.resize(most);
    std::uint8_t* const begin = text_.data();
    std::uint8_t* const end =
        encoding_ == Encoding::kUtf16Be ? convert<true>(bytes, begin) : convert<false>(bytes, begin);
    return {begin, end};
}

void Utf16Decoder::finish() const {
    if (high_ != 0) fail("with an unpaired surrogate", 2 * units_ - 2);
    if (has_odd_) fail("that ends within a character", 2 * units_);
}

}  // namespace cleave
