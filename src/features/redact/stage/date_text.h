// Dates and times of day as text, in the Gregorian calendar and as in ISO 8601. Compiles for a GPU too.
#pragma once

#include <cstdint>

#include "features/redact/stage/decimal.h"

namespace cleave {

// What two_digits() returns if either byte is not a digit.
constexpr unsigned kNoNumber = 100;

CLEAVE_DEVICE inline unsigned two_digits(const std::uint8_t* at) {
    const auto tens = static_cast<std::uint8_t>(at[0] - '0');
    const auto ones = static_cast<std::uint8_t>(at[1] - '0');
    return tens < 10 && ones < 10 ? 10U * tens + ones : kNoNumber;
}

// Whether there is such a day. Each number is below 100, or kNoNumber; the year is 100 century + year.
CLEAVE_DEVICE inline bool is_day(unsigned century, unsigned year, unsigned month, unsigned day) {
    if (century == kNoNumber || year == kNoNumber || month < 1 || month > 12 || day < 1) return false;
    if (day <= 28) return true;
    const bool is_leap = year % 4 == 0 && (year != 0 || century % 4 == 0);
    // Odd months up to July and even months after it have 31 days.
    const unsigned last = month == 2 ? (is_leap ? 29U : 28U) : 30U + ((month + month / 8) & 1);
    return day <= last;
}

// Whether the bytes, which are not empty, are `Z`, or `+` or `-` with HH, HHMM or HH:MM.
CLEAVE_DEVICE inline bool is_zone(const std::uint8_t* at, const std::uint8_t* end) {
    const auto size = end - at;
    if (at[0] == 'Z') return size == 1;
    if ((at[0] != '+' && at[0] != '-') || size < 3 || two_digits(at + 1) > 23) return false;
    if (size == 3) return true;
    if (size == 5) return two_digits(at + 3) <= 59;
    return size == 6 && at[3] == ':' && two_digits(at + 4) <= 59;
}

// Whether the bytes are HH:MM, HH:MM:SS or HH:MM:SS.f, with one or more digits f and seconds up to 60, and perhaps a
// zone.
CLEAVE_DEVICE inline bool is_time(const std::uint8_t* at, const std::uint8_t* end) {
    if (end - at < 5 || two_digits(at) > 23 || at[2] != ':' || two_digits(at + 3) > 59) return false;
    at += 5;
    if (end - at >= 3 && at[0] == ':') {
        if (two_digits(at + 1) > 60) return false;
        at += 3;
        if (at != end && at[0] == '.') {
            const std::uint8_t* const point = at++;
            while (at != end && is_digit(*at)) ++at;
            if (at == point + 1) return false;
        }
    }
    return at == end || is_zone(at, end);
}

}  // namespace cleave
