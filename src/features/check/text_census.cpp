#include "features/check/text_census.h"

#include <cstddef>

#include "base/utf8.h"
#include "features/check/vector.h"

namespace cleave {
namespace {

constexpr std::size_t kTextStep = 64;
constexpr std::size_t kBefore = 3;  // bytes that may demand more

constexpr std::uint8_t kFirstOfTwo = 0xC2;
constexpr std::uint8_t kFirstOfThree = 0xE0;
constexpr std::uint8_t kFirstOfFour = 0xF0;

// Whether each of the 64 bytes is above 0 and below 0x80.
bool is_ascii(const std::uint8_t* step) {
    using Signed [[gnu::vector_size(16)]] = std::int8_t;
    Signed above = ~Signed{};
    for (std::size_t i = 0; i < kTextStep; i += sizeof(Vector))
        above &= reinterpret_cast<Signed>(load_vector(step + i)) > 0;
    return high_bits(reinterpret_cast<Vector>(above)) == 0xFFFF;
}

// Whether `is` is true of a byte of the step or of those right before it.
template <class Predicate>
bool has(const std::uint8_t* step, Predicate is) {
    auto found = is(load_vector(step - kBefore));
    for (std::size_t i = 0; i < kTextStep; i += sizeof(Vector)) found |= is(load_vector(step + i));
    return high_bits(reinterpret_cast<Vector>(found)) != 0;
}

// Which checks a step needs: the fewer, the faster.
enum class Checks : std::uint8_t { kTwos, kThrees, kAll };

Checks checks_for(const std::uint8_t* step) {
    if (!has(step, [](Vector bytes) { return bytes >= kFirstOfThree; })) return Checks::kTwos;
    const bool needs_all =
        has(step, [](Vector bytes) { return (bytes == 0xE0) | (bytes == 0xED) | (bytes >= kFirstOfFour); });
    return needs_all ? Checks::kAll : Checks::kThrees;
}

// Whether each byte of the step is a continuation just if the bytes before it demand one, and none is NUL.
template <Checks checks>
bool is_text(const std::uint8_t* step) {
    Vector fault{};
    for (const std::uint8_t* at = step; at != step + kTextStep; at += sizeof(Vector)) {
        const Vector byte = load_vector(at);
        const Vector one = load_vector(at - 1);
        auto demands = one >= kFirstOfTwo;
        if constexpr (checks != Checks::kTwos) demands |= load_vector(at - 2) >= kFirstOfThree;
        if constexpr (checks == Checks::kAll) demands |= load_vector(at - 3) >= kFirstOfFour;
        auto is_wrong = demands ^ ((byte & 0xC0) == 0x80);
        is_wrong |= ((byte & 0xFE) == 0xC0) | (byte == 0);
        if constexpr (checks == Checks::kAll) {
            is_wrong |= (byte >= 0xF5) | ((one == 0xE0) & (byte < 0xA0)) | ((one == 0xED) & (byte > 0x9F)) |
                        ((one == 0xF0) & (byte < 0x90)) | ((one == 0xF4) & (byte > 0x8F));
        }
        fault |= reinterpret_cast<Vector>(is_wrong);
    }
    return high_bits(fault) == 0;
}

bool is_text(const std::uint8_t* step) {
    switch (checks_for(step)) {
        case Checks::kTwos: return is_text<Checks::kTwos>(step);
        case Checks::kThrees: return is_text<Checks::kThrees>(step);
        default: return is_text<Checks::kAll>(step);
    }
}

// Whether the bytes before `end`, of which there are kBefore, demand more.
bool is_open(const std::uint8_t* end) {
    return end[-1] >= kFirstOfTwo || end[-2] >= kFirstOfThree || end[-3] >= kFirstOfFour;
}

// The end of the steps of data[at, size) that are text; the last one may leave a sequence open. The bytes before `at`
// demand nothing.
std::size_t end_of_text(const std::uint8_t* data, std::size_t at, std::size_t size) {
    bool may_be_open = false;
    for (; size - at >= kTextStep; at += kTextStep) {
        const std::uint8_t* const step = data + at;
        if (!may_be_open && is_ascii(step)) continue;
        if (!is_text(step)) break;
        may_be_open = high_bits(load_vector(step + kTextStep - sizeof(Vector))) >> (sizeof(Vector) - kBefore) != 0;
    }
    return at;
}

}  // namespace

void TextCensus::feed(std::span<const std::uint8_t> bytes) {
    const std::uint8_t* const data = bytes.data();
    for (std::size_t at = 0; at < bytes.size();) {
        // At least a step, so that binary data is not tried again at every byte.
        for (std::size_t n = 0; at < bytes.size() && (n < kTextStep || is_open(data + at)); ++n, ++at) {
            read(data[at], offset_ + at);
        }
        const std::size_t end = end_of_text(data, at, bytes.size());
        if (end == at) continue;
        // The last sequence, which the end may have cut.
        at = end - kBefore;
        while (at < end && is_utf8_continuation(data[at])) ++at;
    }
    offset_ += bytes.size();
}

void TextCensus::finish() {
    if (missing_ > 0) read('\n', offset_);
}

void TextCensus::read(std::uint8_t byte, std::uint64_t offset) {
    const auto add = [](Count& count, std::uint64_t first) {
        if (count.count++ == 0) count.first = first;
    };
    if (missing_ > 0 && byte >= least_ && byte <= most_) {
        --missing_;
        least_ = 0x80;
        most_ = 0xBF;
        return;
    }
    if (missing_ > 0) add(ill_formed_, begin_);
    missing_ = 0;
    if (byte == 0) add(nuls_, offset);
    if (byte < 0x80) return;
    const Utf8Lead lead = utf8_lead(byte);
    if (lead.size == 0) return add(ill_formed_, offset);
    begin_ = offset;
    missing_ = lead.size - 1U;
    least_ = lead.lowest;
    most_ = lead.highest;
}

}  // namespace cleave
