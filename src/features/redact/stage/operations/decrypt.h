// decrypt(KEY[, context=TEXT]): turns a token of encrypt back into its value. Anything else is refused: text that is no
// token, a token of a different key or context, and one that was changed. A prefix is skipped.
#pragma once

#include <cstdint>

#include "features/redact/stage/syntax.h"
#include "features/redact/stage/value.h"

namespace cleave {

struct Decrypt : CpuOperation {
    static constexpr const char* kName = "decrypt";

    static Decrypt parse(const OperationSyntax& syntax, RuleScope& scope);

    static std::uint64_t bound(std::uint64_t size) { return size; }
    std::uint64_t measure(Value value, OperationContext& context) const;
    std::uint64_t write(Value value, std::uint8_t* out, OperationContext& context) const;

    std::uint32_t use = 0;  // an index into KeyUses::ciphers()
};

}  // namespace cleave
