// top(LIMIT): a number above LIMIT becomes LIMIT; other numbers stay as they are. Anything else becomes null.
#pragma once

#include <cstdint>

#include "features/redact/stage/bytes.h"
#include "features/redact/stage/scaled_number.h"
#include "features/redact/stage/syntax.h"
#include "features/redact/stage/value.h"

namespace cleave {

struct Top {
    static constexpr const char* kName = "top";

    static Top parse(const OperationSyntax& syntax, RuleScope& scope);

    CLEAVE_DEVICE std::uint64_t bound(std::uint64_t size) const { return size > text_size ? size : text_size; }

    template <class H>
    CLEAVE_DEVICE std::uint64_t measure(Value value, H&) const {
        const ScaledNumber number = scaled_number(value, decimals);
        if (!number.is_number) return kBecomesNull;
        return is_above(number) ? text_size : value.size;
    }

    template <class H>
    [[gnu::noinline]] CLEAVE_DEVICE std::uint64_t write(Value value, std::uint8_t* out, H&) const {
        const ScaledNumber number = scaled_number(value, decimals);
        if (!number.is_number) return kBecomesNull;
        return is_above(number) ? copy_bytes(out, text, text_size) : copy_bytes(out, value.data, value.size);
    }

    // Whether the value stays as it is.
    bool keeps(Value value) const {
        const ScaledNumber number = scaled_number(value, decimals);
        return number.is_number && !is_above(number);
    }

    std::uint64_t limit = 0;  // LIMIT times 10^decimals
    std::uint64_t decimals = 0;
    std::uint64_t text_size = 0;
    std::uint8_t text[ScaledNumber::kMaxDigits + 2] = {};  // LIMIT as it was given

private:
    CLEAVE_DEVICE bool is_above(const ScaledNumber& number) const {
        return !number.is_negative && (number.units > limit || (number.units == limit && number.has_rest));
    }
};

}  // namespace cleave
