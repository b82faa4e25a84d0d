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
#include <optional>
#include <string>
#include <string_view>
#include <utility>

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

class Utf16Decoder final : public TextDecoder {
public:
    explicit Utf16Decoder(Encoding encoding) : encoding_(encoding) {}

    std::span<const std::uint8_t> decode(std::span<const std::uint8_t> bytes) override;
    void finish() override;

private:
    [[noreturn]] void fail(const char* what, std::uint64_t offset) const;
    template <bool kIsBig>
    std::uint8_t* convert(std::span<const std::uint8_t> bytes, std::uint8_t* to);
    std::uint8_t* append(std::uint8_t* to, std::uint16_t unit);

    const Encoding encoding_;
    std::uint64_t units_ = 0;  // converted so far, or held in high_
    std::uint16_t high_ = 0;   // the first half of a character; 0: none
    std::uint8_t odd_ = 0;     // the first byte of a unit
    bool has_odd_ = false;
    std::vector<std::uint8_t> text_;
};

void Utf16Decoder::fail(const char* what, std::uint64_t offset) const {
    throw InputError(std::string(encoding_name(encoding_)) + " text " + what + " (byte " + std::to_string(offset) +
                     " before its conversion)");
}

std::uint8_t* Utf16Decoder::append(std::uint8_t* to, std::uint16_t unit) {
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
        while (high_ == 0 && bytes.size() >= 2 * kGroup && take_ascii<kIsBig>(bytes.data(), to)) {
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

void Utf16Decoder::finish() {
    if (high_ != 0) fail("with an unpaired surrogate", 2 * units_ - 2);
    if (has_odd_) fail("that ends within a character", 2 * units_);
}

// In counters of a byte, as many as a vector has.
std::uint64_t line_feeds_in(std::span<const std::uint8_t> bytes) {
    constexpr std::size_t kLanes = 32;
    std::uint64_t count = 0;
    while (bytes.size() >= kLanes) {
        std::uint8_t lanes[kLanes] = {};
        const std::size_t rows = std::min<std::size_t>(bytes.size() / kLanes, UINT8_MAX);
        for (std::size_t row = 0; row < rows; ++row) {
            const std::uint8_t* const from = bytes.data() + row * kLanes;
            for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = static_cast<std::uint8_t>(lanes[i] + (from[i] == '\n'));
        }
        for (const std::uint8_t lane : lanes) count += lane;
        bytes = bytes.subspan(rows * kLanes);
    }
    return count + static_cast<std::uint64_t>(std::ranges::count(bytes, '\n'));
}

// The rest gives what comes before an invalid byte before it throws, so the parts do not matter.
class ByteDecoder : public TextDecoder {
public:
    explicit ByteDecoder(Encoding encoding) : encoding_(encoding) {}

    void finish() override { throw_if_failed(); }

protected:
    void throw_if_failed() const {
        if (failure_) throw InputError(*failure_);
    }
    // The part is valid.
    void pass(std::span<const std::uint8_t> bytes) {
        lines_ += line_feeds_in(bytes);
        offset_ += bytes.size();
    }
    // Remembers that the byte behind the `valid` ones is not.
    void fail(std::span<const std::uint8_t> valid, const std::string& what, const char* where) {
        pass(valid);
        failure_ = std::string(encoding_name(encoding_)) + " text " + what + " (byte " + std::to_string(offset_) +
                   ", line " + std::to_string(lines_ + 1) + where + ")";
    }

private:
    const Encoding encoding_;
    std::uint64_t offset_ = 0;
    std::uint64_t lines_ = 0;
    std::optional<std::string> failure_;
};

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

class CharsetDecoder final : public ByteDecoder {
public:
    CharsetDecoder(Encoding encoding, bool keeps_invalid) : ByteDecoder(encoding), keeps_invalid_(keeps_invalid) {
        const auto& points =
            kCodePoints[static_cast<unsigned>(encoding) - static_cast<unsigned>(Encoding::kFirstCharset)];
        for (std::size_t i = 0; i < std::size(points); ++i) {
            const std::uint16_t point = points[i];
            Entry& entry = entries_[i];
            if (point < 0x80) {
                entry = {{static_cast<std::uint8_t>(point)}, 1};
            } else if (point < 0x800) {
                entry = {{static_cast<std::uint8_t>(0xC0 | point >> 6), tail_byte(point, 0)}, 2};
            } else {
                entry = {{static_cast<std::uint8_t>(0xE0 | point >> 12), tail_byte(point, 6), tail_byte(point, 0)}, 3};
            }
            if (is_low(point)) entry.size |= kIsUndefined;
        }
    }

    std::span<const std::uint8_t> decode(std::span<const std::uint8_t> bytes) override {
        throw_if_failed();
        const std::size_t ascii = skip_ascii(bytes.data(), bytes.data() + bytes.size());
        if (ascii == bytes.size()) {
            pass(bytes);
            return bytes;
        }
        unsigned sizes = 0;
        std::uint8_t* const text = text_.grow(kMostOfUnit * bytes.size() + kWord).data();
        const std::uint8_t* end = convert(bytes, text, sizes);
        if ((sizes & kIsUndefined) == 0 || keeps_invalid_) {
            pass(bytes);
            return {text, end};
        }
        const auto is_undefined = [this](std::uint8_t byte) {
            return byte >= 0x80 && (entries_[byte & 0x7F].size & kIsUndefined) != 0;
        };
        const auto bad = std::ranges::find_if(bytes, is_undefined);
        const auto valid = bytes.first(static_cast<std::size_t>(bad - bytes.begin()));
        end = convert(valid, text, sizes);
        fail(valid, "with byte " + shown(*bad) + ", which the set does not define", " before its conversion");
        return {text, end};
    }

private:
    static constexpr std::uint8_t kIsUndefined = 0x80;
    struct Entry {
        std::uint8_t bytes[3];
        std::uint8_t size;
    };

    std::uint8_t* append(std::uint8_t* to, std::uint8_t byte, unsigned& sizes) const {
        const Entry& entry = entries_[byte & 0x7F];
        std::memcpy(to, &entry, sizeof entry);
        sizes |= entry.size;
        return to + (entry.size & 3);
    }

    // Writes up to a word more than it returns. Adds the bits of the sizes that it has met.
    std::uint8_t* convert(std::span<const std::uint8_t> bytes, std::uint8_t* to, unsigned& sizes) const {
        const std::uint8_t* at = bytes.data();
        const std::uint8_t* const end = at + bytes.size();
        while (std::cmp_greater_equal(end - at, kWord)) {
            const std::uint64_t word = word_at(at);
            std::memcpy(to, &word, kWord);
            const std::uint64_t high = word & kHighBits;
            const std::size_t ascii = high == 0 ? kWord : first_bit(high) / 8;
            at += ascii;
            to += ascii;
            for (; high != 0 && at < end && *at >= 0x80; ++at) to = append(to, *at, sizes);
        }
        for (; at < end; ++at) {
            if (*at < 0x80) {
                *to++ = *at;
            } else {
                to = append(to, *at, sizes);
            }
        }
        return to;
    }

    const bool keeps_invalid_;
    Entry entries_[0x80];
    UnfilledBuffer text_;
};

class Utf8Decoder final : public ByteDecoder {
public:
    using ByteDecoder::ByteDecoder;

    std::span<const std::uint8_t> decode(std::span<const std::uint8_t> bytes) override {
        throw_if_failed();
        if (!held_.empty()) {
            joined_.assign(held_.begin(), held_.end());
            joined_.insert(joined_.end(), bytes.begin(), bytes.end());
            bytes = joined_;
            held_.clear();
        }
        const ValidUtf8 found = valid_utf8(bytes);
        const auto valid = bytes.first(found.size);
        const auto rest = bytes.subspan(found.size);
        if (found.is_cut || rest.empty()) {
            held_.assign(rest.begin(), rest.end());
            pass(valid);
        } else {
            fail(valid, "that is not valid", "");
        }
        return valid;
    }

    void finish() override {
        throw_if_failed();
        if (!held_.empty()) fail({}, "that ends within a character", "");
        throw_if_failed();
    }

private:
    std::vector<std::uint8_t> held_;  // of the character that the last part ended in
    std::vector<std::uint8_t> joined_;
};

}  // namespace

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
    const bool is_utf8 = encoding == Encoding::kUtf8 || encoding == Encoding::kUtf8Sig;
    if (encoding == Encoding::kBytes || (is_utf8 && keeps_invalid)) return nullptr;
    if (is_utf8) return std::make_unique<Utf8Decoder>(encoding);
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
