// Most of the text of a CSV file is ASCII, which is taken in groups that compilers turn into vector code.
//
// A byte of a set of single bytes becomes up to three, which a table has. UTF-8 passes as it is; only a character that
// the next part completes has to be remembered.
//
// UTF-16 is taken unit by unit where it is not ASCII:
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
#include "features/compressed/text_decoder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bits.h"
#include "base/unfilled_buffer.h"
#include "base/utf8.h"
#include "cleave/error.h"

namespace cleave {
namespace {

constexpr std::size_t kGroup = 16;      // units
constexpr std::size_t kMostOfUnit = 3;  // bytes of UTF-8; a pair of units has 4

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

// For a character below U+10000 that is not a surrogate.
std::uint8_t* append(std::uint8_t* to, std::uint16_t character) {
    if (character < 0x80) {
        *to++ = static_cast<std::uint8_t>(character);
    } else if (character < 0x800) {
        *to++ = static_cast<std::uint8_t>(0xC0 | character >> 6);
        *to++ = tail_byte(character, 0);
    } else {
        *to++ = static_cast<std::uint8_t>(0xE0 | character >> 12);
        *to++ = tail_byte(character, 6);
        *to++ = tail_byte(character, 0);
    }
    return to;
}

class Utf16Decoder final : public TextDecoder {
public:
    explicit Utf16Decoder(Encoding encoding) : TextDecoder(encoding), is_big_(encoding == Encoding::kUtf16Be) {}

private:
    std::span<const std::uint8_t> convert(std::span<const std::uint8_t> bytes) override {
        // Room for the units in `bytes`, for one that is held, and for a group that proves not to be ASCII.
        const std::size_t most = kMostOfUnit * (bytes.size() / 2 + 2) + kGroup;
        if (text_.size() < most) text_.resize(most);
        std::uint8_t* const begin = text_.data();
        return {begin, is_big_ ? convert<true>(bytes, begin) : convert<false>(bytes, begin)};
    }
    void end() override {
        if (has_odd_) fail("that ends within a character", 2 * units_);
        if (high_ != 0) fail("with an unpaired surrogate", 2 * units_ - 2);
    }

    template <bool kIsBig>
    std::uint8_t* convert(std::span<const std::uint8_t> bytes, std::uint8_t* to);
    std::uint8_t* take(std::uint8_t* to, std::uint16_t unit);

    const bool is_big_;
    std::uint64_t units_ = 0;  // converted so far, or held in high_
    std::uint16_t high_ = 0;   // the first half of a character; 0: none
    std::uint8_t odd_ = 0;     // the first byte of a unit
    bool has_odd_ = false;
    std::vector<std::uint8_t> text_;
};

std::uint8_t* Utf16Decoder::take(std::uint8_t* to, std::uint16_t unit) {
    const std::uint64_t offset = 2 * units_++;
    const std::uint16_t high = std::exchange(high_, std::uint16_t{0});
    if (is_low(unit) != (high != 0)) {
        fail("with an unpaired surrogate", high != 0 ? offset - 2 : offset);
    } else if (high != 0) {
        const std::uint32_t character = 0x10000 + ((high & 0x3FFU) << 10) + (unit & 0x3FFU);
        *to++ = static_cast<std::uint8_t>(0xF0 | character >> 18);
        *to++ = tail_byte(character, 12);
        *to++ = tail_byte(character, 6);
        *to++ = tail_byte(character, 0);
    } else if (is_high(unit)) {
        high_ = unit;
    } else {
        return append(to, unit);
    }
    return to;
}

template <bool kIsBig>
std::uint8_t* Utf16Decoder::convert(std::span<const std::uint8_t> bytes, std::uint8_t* to) {
    if (has_odd_ && !bytes.empty()) {
        const std::uint8_t unit[] = {odd_, bytes.front()};
        to = take(to, unit_at<kIsBig>(unit));
        has_odd_ = false;
        bytes = bytes.subspan(1);
    }
    while (bytes.size() >= 2 && !has_failed()) {
        while (high_ == 0 && bytes.size() >= 2 * kGroup && take_ascii<kIsBig>(bytes.data(), to)) {
            to += kGroup;
            units_ += kGroup;
            bytes = bytes.subspan(2 * kGroup);
        }
        // After a group with another character, most often more of them follow.
        for (std::size_t i = 0; i < kGroup && bytes.size() >= 2 && !has_failed(); ++i) {
            to = take(to, unit_at<kIsBig>(bytes.data()));
            bytes = bytes.subspan(2);
        }
    }
    if (!bytes.empty()) odd_ = bytes.front();
    has_odd_ = has_odd_ || !bytes.empty();
    return to;
}

std::uint64_t line_feeds_in(std::span<const std::uint8_t> bytes) {
    constexpr std::size_t kRow = 128;  // counted in a byte, so that a vector has many
    std::uint64_t count = 0;
    for (; bytes.size() >= kRow; bytes = bytes.subspan(kRow)) {
        std::uint8_t here = 0;
        for (std::size_t i = 0; i < kRow; ++i) here = static_cast<std::uint8_t>(here + (bytes[i] == '\n'));
        count += here;
    }
    return count + static_cast<std::uint64_t>(std::ranges::count(bytes, '\n'));
}

std::string shown(std::uint8_t byte) {
    constexpr const char* kDigits = "0123456789ABCDEF";
    return std::string("0x") + kDigits[byte >> 4] + kDigits[byte & 0xF];
}

constexpr std::size_t kWord = 8;  // bytes
constexpr std::uint64_t kHighBits = 0x8080808080808080;
static_assert(std::endian::native == std::endian::little);

std::uint64_t word_at(const std::uint8_t* bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, kWord);
    return word;
}

// How many bytes are ASCII from `at` on; perhaps fewer by up to three words.
std::size_t skip_ascii(const std::uint8_t* at, const std::uint8_t* end) {
    const std::uint8_t* const begin = at;
    constexpr std::size_t kWords = 4;
    for (; static_cast<std::size_t>(end - at) >= kWords * kWord; at += kWords * kWord) {
        std::uint64_t high = 0;
        for (std::size_t i = 0; i < kWords; ++i) high |= word_at(at + i * kWord);
        if ((high & kHighBits) != 0) break;
    }
    return static_cast<std::size_t>(at - begin);
}

constexpr std::uint16_t kCodePoints[][0x80] = {
#define UNICODE(name, aliases)
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): a row of a table
#define CHARSET(name, aliases, ...) {__VA_ARGS__},
#define FOREIGN(name, aliases, iconv)
#include "core/reader/charsets.inc"
#undef UNICODE
#undef CHARSET
#undef FOREIGN
};

class CharsetDecoder final : public TextDecoder {
public:
    CharsetDecoder(Encoding encoding, bool keeps_invalid) : TextDecoder(encoding), keeps_invalid_(keeps_invalid) {
        const auto& points =
            kCodePoints[static_cast<unsigned>(encoding) - static_cast<unsigned>(Encoding::kFirstCharset)];
        for (std::size_t i = 0; i < std::size(points); ++i) {
            Entry& entry = entries_[i];
            entry.size = static_cast<std::uint8_t>(append(entry.bytes, points[i]) - entry.bytes);
            if (is_low(points[i])) entry.size |= kIsUndefined;
        }
    }

private:
    static constexpr std::uint8_t kIsUndefined = 0x80;
    struct Entry {
        std::uint8_t bytes[3];
        std::uint8_t size;
    };

    std::span<const std::uint8_t> convert(std::span<const std::uint8_t> bytes) override {
        if (skip_ascii(bytes.data(), bytes.data() + bytes.size()) == bytes.size()) return bytes;
        unsigned sizes = 0;
        std::uint8_t* const text = text_.grow(kMostOfUnit * bytes.size() + kWord).data();
        std::uint8_t* const end = convert(bytes, text, sizes);
        if ((sizes & kIsUndefined) == 0 || keeps_invalid_) return {text, end};
        const auto bad = std::ranges::find_if(bytes, [this](std::uint8_t byte) {
            return byte >= 0x80 && (entries_[byte & 0x7F].size & kIsUndefined) != 0;
        });
        const auto valid = static_cast<std::size_t>(bad - bytes.begin());
        fail("with byte " + shown(*bad) + ", which the set does not define", passed() + valid);
        return {text, convert(bytes.first(valid), text, sizes)};
    }

    std::uint8_t* take(std::uint8_t* to, std::uint8_t byte, unsigned& sizes) const {
        const Entry& entry = entries_[byte & 0x7F];
        std::memcpy(to, &entry, sizeof entry);
        sizes |= entry.size;
        return to + (entry.size & 3);
    }

    // Writes up to a word more than it returns. Adds the bits of the sizes that it has met.
    std::uint8_t* convert(std::span<const std::uint8_t> bytes, std::uint8_t* to, unsigned& sizes) const {
        const std::uint8_t* at = bytes.data();
        const std::uint8_t* const end = at + bytes.size();
        while (at < end) {
            if (std::cmp_greater_equal(end - at, kWord)) {
                const std::uint64_t word = word_at(at);
                std::memcpy(to, &word, kWord);
                const std::uint64_t high = word & kHighBits;
                const std::size_t ascii = high == 0 ? kWord : first_bit(high) / 8;
                at += ascii;
                to += ascii;
            } else if (*at < 0x80) {
                *to++ = *at++;
            }
            for (; at < end && *at >= 0x80; ++at) to = take(to, *at, sizes);
        }
        return to;
    }

    const bool keeps_invalid_;
    Entry entries_[0x80];
    UnfilledBuffer text_;
};

class Utf8Decoder final : public TextDecoder {
public:
    using TextDecoder::TextDecoder;

private:
    std::span<const std::uint8_t> convert(std::span<const std::uint8_t> bytes) override {
        const std::uint64_t begin = passed() - held_.size();
        if (!held_.empty()) {
            joined_ = std::exchange(held_, {});
            joined_.insert(joined_.end(), bytes.begin(), bytes.end());
            bytes = joined_;
        }
        const ValidUtf8 found = valid_utf8(bytes);
        const auto rest = bytes.subspan(found.size);
        if (!found.is_cut && !rest.empty()) fail("that is not valid", begin + found.size);
        held_.assign(rest.begin(), rest.end());
        return bytes.first(found.size);
    }
    void end() override {
        if (!held_.empty()) fail("that ends within a character", passed() - held_.size());
    }

    std::vector<std::uint8_t> held_;  // of the character that the last part ended in
    std::vector<std::uint8_t> joined_;
};

bool is_utf8(Encoding encoding) { return encoding == Encoding::kUtf8 || encoding == Encoding::kUtf8Sig; }

}  // namespace

std::span<const std::uint8_t> TextDecoder::decode(std::span<const std::uint8_t> bytes) {
    throw_if_failed();
    const auto text = convert(bytes);
    lines_ += line_feeds_in(text);
    passed_ += bytes.size();
    return text;
}

void TextDecoder::finish() {
    throw_if_failed();
    end();
    throw_if_failed();
}

void TextDecoder::throw_if_failed() const {
    if (!has_failed()) return;
    throw InputError(std::string(encoding_name(encoding_)) + " text " + fault_ + " (byte " + std::to_string(fault_at_) +
                     ", line " + std::to_string(lines_ + 1) + (is_utf8(encoding_) ? ")" : " before its conversion)"));
}

ValidUtf8 valid_utf8(std::span<const std::uint8_t> text) {
    const std::uint8_t* at = text.data();
    const std::uint8_t* const end = at + text.size();
    while (at < end) {
        at += skip_ascii(at, end);
        // Behind a character that is not ASCII, most often more of them follow.
        for (std::size_t i = 0; i < 4 * kWord && at < end; ++i) {
            const std::uint64_t size = utf8_size(at, end);
            if (size > 0) {
                at += size;
                continue;
            }
            const std::uint64_t begun = utf8_start_size(at, end);
            return {static_cast<std::size_t>(at - text.data()), begun < utf8_lead(*at).size && at + begun == end};
        }
    }
    return {text.size(), false};
}

std::unique_ptr<TextDecoder> make_text_decoder(Encoding encoding, bool keeps_invalid) {
    if (encoding == Encoding::kBytes || (is_utf8(encoding) && keeps_invalid)) return nullptr;
    if (is_utf8(encoding)) return std::make_unique<Utf8Decoder>(encoding);
    if (encoding < Encoding::kFirstCharset) return std::make_unique<Utf16Decoder>(encoding);
    return std::make_unique<CharsetDecoder>(encoding, keeps_invalid);
}

Encoding settle_encoding(Encoding wanted, std::span<const std::uint8_t> head, bool is_whole) {
    using namespace std::string_view_literals;
    constexpr std::pair<std::string_view, Encoding> kMarks[] = {{"\xEF\xBB\xBF"sv, Encoding::kUtf8},
                                                                {"\xFF\xFE\0\0"sv, Encoding::kBytes},  // UTF-32
                                                                {"\0\0\xFE\xFF"sv, Encoding::kBytes},
                                                                {"\xFF\xFE"sv, Encoding::kUtf16Le},
                                                                {"\xFE\xFF"sv, Encoding::kUtf16Be}};
    const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
    const auto* const mark = std::ranges::find_if(kMarks, [&](const auto& row) { return text.starts_with(row.first); });
    const std::string name(encoding_name(wanted));
    if (mark == std::end(kMarks)) {
        if (wanted == Encoding::kAuto) return guess_encoding(head, is_whole);
        if (wanted != Encoding::kUtf16) return wanted;
        if (head.empty()) return Encoding::kUtf16Le;
        throw InputError(name + " text without a byte order mark; it may be utf-16le or utf-16be");
    }
    const Encoding found = mark->second;
    if (wanted == found || (wanted == Encoding::kUtf8Sig && found == Encoding::kUtf8)) return wanted;
    if (wanted == Encoding::kAuto ||
        (wanted == Encoding::kUtf16 && found > Encoding::kBytes && found < Encoding::kUtf16))
        return found;
    throw InputError(name + " text that begins with the byte order mark of " +
                     (found == Encoding::kBytes ? "utf-32" : std::string(encoding_name(found))) +
                     " (byte 0 before its conversion)");
}

}  // namespace cleave
