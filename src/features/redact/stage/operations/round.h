// round(WIDTH): a number is rounded to the nearest multiple of WIDTH, a half away from zero, with as many decimals as
// WIDTH has. Anything that is not a number, or would then have more than 18 digits, becomes null.
//
// Let WIDTH be W / 10^d. The value without its sign, times 10^d, is n plus a fraction f. With r = n mod W, the value is
// rounded up if r + f is at least W / 2: if 2 r >= W, or if 2 r = W - 1 and f is at least a half.
#pragma once

#include <cstdint>

#include "features/redact/stage/arguments.h"
#include "features/redact/stage/scaled_number.h"
#include "features/redact/stage/syntax.h"
#include "features/redact/stage/value.h"

namespace cleave {

struct Round {
    static constexpr const char* kName = "round";

    static Round parse(const OperationSyntax& syntax, RuleScope&) {
        const ScaledLimit limit = take_width(syntax, "round(WIDTH)", ScaledNumber::kMaxDigits);
        return {limit.units, limit.decimals};
    }

    CLEAVE_DEVICE static std::uint64_t bound(std::uint64_t) { return kScaledRoom; }

    template <class H>
    CLEAVE_DEVICE std::uint64_t measure(Value value, H&) const {
        const ScaledNumber number = scaled_number(value, decimals);
        if (!is_usable(number)) return kBecomesNull;
        return size_of_scaled(number.is_negative, rounded(number), decimals);
    }

    template <class H>
    [[gnu::noinline]] CLEAVE_DEVICE std::uint64_t write(Value value, std::uint8_t* out, H&) const {
        const ScaledNumber number = scaled_number(value, decimals);
        if (!is_usable(number)) return kBecomesNull;
        return write_scaled(number.is_negative, rounded(number), decimals, out);
    }

    std::uint64_t width = 1;     // W
    std::uint64_t decimals = 0;  // d

private:
    CLEAVE_DEVICE static bool is_usable(const ScaledNumber& number) {
        return number.is_number && number.units != ScaledNumber::kTooLarge;
    }

    CLEAVE_DEVICE std::uint64_t rounded(const ScaledNumber& number) const {
        const std::uint64_t remainder = number.units % width;
        const bool is_up = 2 * remainder + (number.has_half ? 1 : 0) >= width;
        return number.units - remainder + (is_up ? width : 0);
    }
};

}  // namespace cleave
