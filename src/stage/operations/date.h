// date(year|month|day): an ISO 8601 date, optionally followed by a time, is truncated to `2024`, `2024-05` or
// `2024-05-17`. Anything else becomes null, including a day that does not exist.
//
//   date  YYYY-MM-DD, with years 0000 to 9999, in the Gregorian calendar
//   time  `T` or one space, then HH:MM, HH:MM:SS or HH:MM:SS.f, with one or more digits f; seconds up to 60
//   zone  only after a time: nothing, `Z`, or `+` or `-` with HH, HHMM or HH:MM
#pragma once

#include <cstdint>

#include "stage/bytes.h"
#include "stage/decimal.h"
#include "stage/key_names.h"
#include "stage/syntax.h"
#include "stage/value.h"

namespace cleave {

struct Date {
    static constexpr const char* kName = "date";

    static Date parse(const OperationSyntax& syntax, KeyUses& keys);

    CLEAVE_DEVICE std::uint64_t bound(std::uint64_t) const { return size; }

    template <class H>
    CLEAVE_DEVICE std::uint64_t measure(Value value, H&) const {
        return is_date_or_time(value) ? size : kBecomesNull;
    }

    template <class H>
    CLEAVE_DEVICE std::uint64_t write(Value value, std::uint8_t* out, H&) const {
        return is_date_or_time(value) ? copy_bytes(out, value.data, size) : kBecomesNull;
    }

    std::uint64_t size = 4;  // of the output: 4, 7 or 10

private:
    static constexpr unsigned kNoNumber = 100;

    // The number that two digits form, or kNoNumber if either is not a digit.
    CLEAVE_DEVICE static unsigned pair(const std::uint8_t* at) {
        const auto tens = static_cast<std::uint8_t>(at[0] - '0');
        const auto ones = static_cast<std::uint8_t>(at[1] - '0');
        return tens < 10 && ones < 10 ? 10U * tens + ones : kNoNumber;
    }

    CLEAVE_DEVICE static bool is_date(const std::uint8_t* at) {
        if (at[4] != '-' || at[7] != '-') return false;
        const unsigned century = pair(at);
        const unsigned year = pair(at + 2);
        const unsigned month = pair(at + 5);
        const unsigned day = pair(at + 8);
        if (century == kNoNumber || year == kNoNumber || month < 1 || month > 12 || day < 1) return false;
        if (day <= 28) return true;
        const bool is_leap = year % 4 == 0 && (year != 0 || century % 4 == 0);
        // Odd months up to July and even months after it have 31 days.
        const unsigned last = month == 2 ? (is_leap ? 29U : 28U) : 30U + ((month + month / 8) & 1);
        return day <= last;
    }

    // `at` is just after the `T` or the space. The time must extend to `end`.
    CLEAVE_DEVICE static bool is_time(const std::uint8_t* at, const std::uint8_t* end) {
        if (end - at < 5 || pair(at) > 23 || at[2] != ':' || pair(at + 3) > 59) return false;
        at += 5;
        if (end - at >= 3 && at[0] == ':') {
            if (pair(at + 1) > 60) return false;
            at += 3;
            if (at != end && at[0] == '.') {
                const std::uint8_t* const point = at++;
                while (at != end && is_digit(*at)) ++at;
                if (at == point + 1) return false;
            }
        }
        return at == end || is_zone(at, end);
    }

    CLEAVE_DEVICE static bool is_zone(const std::uint8_t* at, const std::uint8_t* end) {
        const auto size = end - at;
        if (at[0] == 'Z') return size == 1;
        if ((at[0] != '+' && at[0] != '-') || size < 3 || pair(at + 1) > 23) return false;
        if (size == 3) return true;
        if (size == 5) return pair(at + 3) <= 59;
        return size == 6 && at[3] == ':' && pair(at + 4) <= 59;
    }

    CLEAVE_DEVICE static bool is_date_or_time(Value value) {
        if (value.size < 10 || !is_date(value.data)) return false;
        if (value.size == 10) return true;
        const std::uint8_t separator = value.data[10];
        return (separator == 'T' || separator == ' ') && is_time(value.data + 11, value.data + value.size);
    }
};

}  // namespace cleave
