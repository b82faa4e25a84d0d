#include "stage/forbidden.h"

#include <array>
#include <cstddef>
#include <cstring>

#include "stage/decimal.h"

namespace cleave {
namespace {

bool is_letter(std::uint8_t byte) { return static_cast<std::uint8_t>((byte | 0x20) - 'a') < 26; }
bool is_beyond_ascii(std::uint8_t byte) { return byte >= 0x80; }
bool is_label(std::uint8_t byte) { return is_letter(byte) || is_digit(byte) || byte == '-' || is_beyond_ascii(byte); }
bool is_local(std::uint8_t byte) {
    return is_label(byte) || byte == '.' || byte == '_' || byte == '%' || byte == '+' || byte == '"';
}
bool is_top_level(std::uint8_t byte) { return is_letter(byte) || is_beyond_ascii(byte); }

// Whether an address literal begins at `at`.
bool has_address_literal(const std::uint8_t* at, const std::uint8_t* end) {
    if (at == end || *at != '[') return false;
    bool has_digit = false;
    for (++at; at != end && (is_letter(*at) || is_digit(*at) || *at == '.' || *at == ':'); ++at) {
        has_digit = has_digit || is_digit(*at);
    }
    return has_digit && at != end && *at == ']';
}

// Whether a domain with a dot and two letters begins at `at`.
bool has_domain(const std::uint8_t* at, const std::uint8_t* end) {
    for (bool is_behind_dot = false;; is_behind_dot = true) {
        if (is_behind_dot && end - at >= 2 && is_top_level(at[0]) && is_top_level(at[1])) return true;
        const std::uint8_t* const label = at;
        while (at != end && is_label(*at)) ++at;
        if (at == label || at == end || *at != '.') return false;
        ++at;
    }
}

// The size in bytes of the separator between digits at `at`, or 0 if there is none.
std::size_t separator_size(const std::uint8_t* at, const std::uint8_t* end) {
    const auto size = static_cast<std::size_t>(end - at);
    if (size == 0) return 0;
    if (*at == ' ' || *at == '\t' || *at == '.' || *at == '/' || *at == '-') return 1;
    if (size >= 2 && at[0] == 0xC2 && (at[1] == 0xA0 || at[1] == 0xAD)) return 2;
    if (size < 3 || at[0] != 0xE2) return 0;
    const bool is_general = at[1] == 0x80 && ((at[2] >= 0x90 && at[2] <= 0x95) || at[2] == 0xAF);
    return is_general || (at[1] == 0x88 && at[2] == 0x92) ? 3 : 0;
}

// Whether a card number begins at `at`, at a digit with no digit before it. Luhn's check: counting from the last digit,
// every second one is doubled, and the digits of all results are added up. Which digits are doubled depends on where
// the number ends, so both sums are kept.
bool has_card_at(const std::uint8_t* at, const std::uint8_t* end) {
    constexpr std::size_t kFewest = 13;
    constexpr std::size_t kMost = 19;
    constexpr std::array<unsigned, 10> kDoubled{0, 2, 4, 6, 8, 1, 3, 5, 7, 9};
    if (*at == '0') return false;
    std::array<unsigned, 2> sums{};  // sums[p]: digits i with i % 2 == p are doubled
    for (std::size_t count = 0; count < kMost;) {
        const unsigned digit = *at++ - unsigned{'0'};
        sums[count & 1] += kDoubled[digit];
        sums[(count & 1) ^ 1] += digit;
        ++count;
        if (at != end && is_digit(*at)) continue;
        if (count >= kFewest && sums[count & 1] % 10 == 0) return true;
        const std::size_t separator = separator_size(at, end);
        if (separator == 0 || at + separator == end || !is_digit(at[separator])) return false;
        at += separator;
    }
    return false;
}

}  // namespace

bool has_mail_address(Value value) noexcept {
    const std::uint8_t* at = value.data;
    const std::uint8_t* const end = at + value.size;
    while (at != end) {
        const auto* const sign =
            static_cast<const std::uint8_t*>(std::memchr(at, '@', static_cast<std::size_t>(end - at)));
        if (sign == nullptr) return false;
        at = sign + 1;
        const bool has_local = sign != value.data && is_local(sign[-1]);
        if (has_local && (has_domain(at, end) || has_address_literal(at, end))) return true;
    }
    return false;
}

bool has_card_number(Value value) noexcept {
    constexpr std::uint64_t kFewest = 13;
    if (value.size < kFewest) return false;
    // Most values have too few digits, and counting them needs no branches.
    std::uint64_t digits = 0;
    for (std::uint64_t i = 0; i < value.size; ++i) digits += is_digit(value.data[i]) ? 1U : 0U;
    if (digits < kFewest) return false;

    const std::uint8_t* const end = value.data + value.size;
    bool is_behind_digit = false;
    for (const std::uint8_t* at = value.data; at != end; ++at) {
        if (is_digit(*at) && !is_behind_digit && has_card_at(at, end)) return true;
        is_behind_digit = is_digit(*at);
    }
    return false;
}

}  // namespace cleave
