// pick(KEY, FILE[, context=TEXT]): one of the values that FILE lists, one on each line. Equal values become equal, and
// different values may. With k derived from the key, value v becomes line floor(h n / 2^64) of n, counted from 0, where
// h is the first 64 bits of HMAC(k, v).
#pragma once

#include <cstdint>

#include "features/redact/stage/syntax.h"
#include "features/redact/stage/value.h"

namespace cleave {

struct Pick : CpuOperation {
    static constexpr const char* kName = "pick";

    static Pick parse(const OperationSyntax& syntax, RuleScope& scope);
    // The argument that names a file; nullptr if there is none.
    static const ArgumentSyntax* file_of(const OperationSyntax& syntax);

    std::uint64_t bound(std::uint64_t) const { return longest; }
    std::uint64_t measure(Value value, OperationContext& context) const;
    std::uint64_t write(Value value, std::uint8_t* out, OperationContext& context) const;

    std::uint32_t use = 0;   // an index into KeyUses::uses()
    std::uint32_t list = 0;  // an index into RuleTables::lists
    std::uint64_t longest = 0;
};

}  // namespace cleave
