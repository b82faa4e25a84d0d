// date(year|month|day): an ISO 8601 date, optionally followed by a time, is truncated to `2024`, `2024-05` or
// `2024-05-17`. Anything else becomes null, including a day that does not exist.
//
//   date  YYYY-MM-DD, with years 0000 to 9999, in the Gregorian calendar
//   time  `T` or one space, then HH:MM, HH:MM:SS or HH:MM:SS.f, with one or more digits f; seconds up to 60
//   zone  only after a time: nothing, `Z`, or `+` or `-` with HH, HHMM or HH:MM
#pragma once

#include <cstdint>

#include "features/redact/stage/bytes.h"
#include "features/redact/stage/date_text.h"
#include "features/redact/stage/syntax.h"
#include "features/redact/stage/value.h"

namespace cleave {

struct Date {
    static constexpr const char* kName = "date";

    static Date parse(const OperationSyntax& syntax, RuleScope& scope);

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
    CLEAVE_DEVICE static bool is_date(const std::uint8_t* at) {
        if (at[4] != '-' || at[7] != '-') return false;
        return is_day(two_digits(at), two_digits(at + 2), two_digits(at + 5), two_digits(at + 8));
    }

    CLEAVE_DEVICE static bool is_date_or_time(Value value) {
        if (value.size < 10 || !is_date(value.data)) return false;
        if (value.size == 10) return true;
        const std::uint8_t separator = value.data[10];
        return (separator == 'T' || separator == ' ') && is_time(value.data + 11, value.data + value.size);
    }
};

}  // namespace cleave
