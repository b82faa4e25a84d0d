// noise(KEY, sd=S, by=COLUMN[, context=TEXT]): a number plus noise of mean 0 and standard deviation S. The value is
// first rounded to the decimals of S, a half away from zero, because further decimals could identify it. Anything that
// is not a number of up to 18 digits, with the decimals of S, becomes null. An empty COLUMN is refused.
//
// The noise depends on the value and on the value of COLUMN, such as a person's number, so the same record always gets
// the same noise: averaging several releases removes none of it. It also depends on S. If it did not, releases with the
// deviations S and T would be value + S x and value + T x with the same x, two equations that give the value.
//
// With k derived from the key, the digest is HMAC(k, S without its point, the number of decimals of S, the size of
// COLUMN's value, COLUMN's value, value); each of the three numbers is eight bytes, the most significant first. The
// first 24 bytes of the digest are twelve numbers u from 0 to 65535. Their sum is nearly normal (Irwin and Hall):
// (2 sum - 12 * 65535) / 131072 has mean 0 and variance 1 - 2^-32, and is never beyond 6. Everything is computed with
// integers, so every machine gets the same result.
#pragma once

#include <cstdint>

#include "features/redact/stage/scaled_number.h"
#include "features/redact/stage/syntax.h"
#include "features/redact/stage/value.h"

namespace cleave {

struct Noise : CpuOperation {
    static constexpr const char* kName = "noise";

    static Noise parse(const OperationSyntax& syntax, RuleScope& scope);

    static std::uint64_t bound(std::uint64_t) { return kScaledRoom; }
    std::uint64_t measure(Value value, OperationContext& context) const;
    std::uint64_t write(Value value, std::uint8_t* out, OperationContext& context) const;

    std::uint32_t use = 0;        // an index into KeyUses::uses()
    std::uint32_t by = 0;         // a column of the input
    std::uint64_t deviation = 1;  // S times 10^decimals
    std::uint64_t decimals = 0;
};

}  // namespace cleave
