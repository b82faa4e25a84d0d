// shift-date(KEY, by=COLUMN[, days=N][, format=FORMAT][, context=TEXT][, version=1]): every date moves by 1 to N days
// in either direction, a number that depends on the key and on the value of COLUMN, such as a patient's number. So all
// dates of one person move together: their order and the days between them stay. A time of day stays as it is. A value
// that is not a date, an empty COLUMN, and a date that would leave the years 0000 to 9999 are refused.
//
// With k derived from the key, let h be the first 64 bits of HMAC(k, N as eight bytes, the most significant first,
// value of COLUMN), and d = floor(h 2 N / 2^64) - N. The date moves by d days, or by d + 1 if d >= 0. In version 1, it
// moves by floor(h (2 N + 1) / 2^64) - N days, so that one date in 2 N + 1 stays. N is part of the message because the
// shifts of releases with different N would otherwise have the ratio of these N, and two releases would give the date.
//
// FORMAT consists of YYYY, MM, DD and other characters, which stand for themselves; `|` separates formats, of which the
// first that fits is used. A date may be followed by a time; see date_text.h.
//
// Days are counted as in Howard Hinnant, "chrono-compatible low-level date algorithms", in eras of 400 years.
#pragma once

#include <cstdint>

#include "features/redact/stage/syntax.h"
#include "features/redact/stage/value.h"

namespace cleave {

struct ShiftDate : CpuOperation {
    static constexpr const char* kName = "shift-date";
    static constexpr std::uint64_t kMaxDays = 36500;
    static constexpr std::size_t kMaxFormats = 8;

    static ShiftDate parse(const OperationSyntax& syntax, RuleScope& scope);

    static std::uint64_t bound(std::uint64_t size) { return size; }
    std::uint64_t measure(Value value, OperationContext& context) const;
    std::uint64_t write(Value value, std::uint8_t* out, OperationContext& context) const;

    // Where the parts of a date are in a text of `size` bytes.
    struct Format {
        static constexpr std::size_t kMaxSize = 16;

        std::uint8_t size;
        std::uint8_t year;
        std::uint8_t month;
        std::uint8_t day;
        char text[kMaxSize];
    };

    std::uint32_t use = 0;  // an index into KeyUses::uses()
    std::uint32_t by = 0;   // a column of the input
    std::uint64_t days = 365;
    bool may_stay = false;  // version 1
    std::uint64_t format_count = 0;
    Format formats[kMaxFormats] = {};
};

}  // namespace cleave
