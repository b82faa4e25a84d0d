// Decimal numbers as integers: a value such as "-12.345", times 10^d, is a sign, whole units and a rest. Compiles for a
// GPU too.
#pragma once

#include <cstdint>

#include "features/redact/stage/decimal.h"
#include "features/redact/stage/value.h"

namespace cleave {

struct ScaledNumber {
    static constexpr std::uint64_t kMaxDigits = 18;
    static constexpr std::uint64_t kTooLarge = UINT64_MAX;

    bool is_number = false;  // if not, the other members are meaningless
    bool is_negative = false;
    std::uint64_t units = 0;     // the magnitude times 10^d, rounded down; kTooLarge beyond 10^kMaxDigits - 1
    bool has_half = false;       // the rest is at least half a unit
    bool has_rest = false;       // the rest is not zero
    std::uint64_t decimals = 0;  // the decimals that the value has
};

// Appends a digit to the units.
CLEAVE_DEVICE inline void append_digit(std::uint64_t& units, unsigned digit) {
    constexpr std::uint64_t kLimit = 100'000'000'000'000'000;  // 10^17: a number below it can take another digit
    units = units >= kLimit ? ScaledNumber::kTooLarge : 10 * units + digit;
}

// Reads the digits after the point, from `at` to `end`. Returns false if there is nothing or anything else there.
CLEAVE_DEVICE inline bool read_decimals(const std::uint8_t* at, const std::uint8_t* end, std::uint64_t decimals,
                                        ScaledNumber& number) {
    if (at == end) return false;
    for (; at != end; ++at, ++number.decimals) {
        if (!is_digit(*at)) return false;
        const unsigned digit = *at - unsigned{'0'};
        if (number.decimals < decimals) {
            append_digit(number.units, digit);
        } else {
            if (number.decimals == decimals) number.has_half = digit >= 5;
            number.has_rest = number.has_rest || digit != 0;
        }
    }
    return true;
}

// A number is an optional sign, digits, and optionally a point and more digits. `decimals` is d, at most kMaxDigits.
CLEAVE_DEVICE inline ScaledNumber scaled_number(Value value, std::uint64_t decimals) {
    ScaledNumber number;
    const std::uint8_t* at = value.data;
    const std::uint8_t* const end = at + value.size;
    if (at != end && (*at == '-' || *at == '+')) number.is_negative = *at++ == '-';
    const std::uint8_t* const first = at;
    for (; at != end && is_digit(*at); ++at) append_digit(number.units, *at - unsigned{'0'});
    if (at == first) return number;
    if (at != end && (*at != '.' || !read_decimals(at + 1, end, decimals, number))) return number;
    for (std::uint64_t i = number.decimals; i < decimals; ++i) append_digit(number.units, 0);
    number.is_number = true;
    return number;
}

// The size of the text of a number of units / 10^decimals. Zero has no sign.
CLEAVE_DEVICE inline std::uint64_t size_of_scaled(bool is_negative, std::uint64_t units, std::uint64_t decimals) {
    const std::uint64_t digits = digit_count(units);
    return (is_negative && units != 0 ? 1 : 0) + (digits > decimals ? digits : decimals + 1) + (decimals > 0 ? 1 : 0);
}

// Writes the text, and returns its size.
CLEAVE_DEVICE inline std::uint64_t write_scaled(bool is_negative, std::uint64_t units, std::uint64_t decimals,
                                                std::uint8_t* out) {
    std::uint64_t power = 1;
    for (std::uint64_t i = 0; i < decimals; ++i) power *= 10;
    std::uint8_t* at = out;
    if (is_negative && units != 0) *at++ = '-';
    at += write_digits(units / power, digit_count(units / power), at);
    if (decimals > 0) {
        *at++ = '.';
        at += write_digits(units % power, decimals, at);
    }
    return static_cast<std::uint64_t>(at - out);
}

// Room for what write_scaled() writes: a sign, 20 digits, a leading zero and a point.
constexpr std::uint64_t kScaledRoom = 23;

}  // namespace cleave
