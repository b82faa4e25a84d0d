// noise(KEY, sd=S, by=COLUMN[, context=TEXT]): a number plus noise of mean 0 and standard deviation S. The result has
// as many decimals as S; the value's further decimals are dropped first, because they could identify it. Anything that
// is not a number of up to 18 digits becomes null.
//
// The noise depends on the value and on the value of COLUMN, such as a person's number, so the same record always gets
// the same noise: averaging several releases removes none of it. With k derived from the key, the digest is
// HMAC(k, size of COLUMN's value as eight bytes, COLUMN's value, value). Its first 24 bytes are twelve numbers u from 0
// to 65535. Their sum is nearly normal (Irwin and Hall): (2 sum - 12 * 65535) / 131072 has mean 0 and variance
// 1 - 2^-32, and is never beyond 6. Everything is computed with integers, so every machine gets the same result.
#pragma once

#include <cstdint>

#include "stage/operations/cpu_operation.h"
#include "stage/scaled_number.h"
#include "stage/syntax.h"
#include "stage/value.h"

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
