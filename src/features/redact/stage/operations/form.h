// form(KEY[, context=TEXT]): a token of the same form. Each ASCII digit becomes a digit, each ASCII letter a letter of
// the same case, and each character beyond ASCII a small letter; all other characters stay. Equal values have equal
// tokens. This is not encryption: different values may have the same token, and a token may equal its value.
//
// With k derived from the key, D = HMAC(k, 00 value), and the stream is D, then HMAC(k, 01 D i) for i = 1, 2, ... as
// eight bytes, big-endian. Each eight bytes of the stream are a number w for the next ten characters that change, one
// after the other: a digit is floor(10 w / 2^64), and w becomes 10 w mod 2^64; a letter takes 26 instead of 10. No
// outcome is more than 0.001 % more likely than another.
#pragma once

#include <cstdint>

#include "features/redact/stage/syntax.h"
#include "features/redact/stage/value.h"

namespace cleave {

struct Form : CpuOperation {
    static constexpr const char* kName = "form";

    static Form parse(const OperationSyntax& syntax, RuleScope& scope);

    static std::uint64_t bound(std::uint64_t size) { return size; }
    static std::uint64_t measure(Value value, OperationContext& context);
    // How many tokens the value could have become under other keys, at most 2^64 - 1. It equals its own with a
    // probability of one in this number, and collides with another value of the same form just as often.
    static std::uint64_t tokens_of(Value value);
    std::uint64_t write(Value value, std::uint8_t* out, OperationContext& context) const;

    std::uint32_t use = 0;  // an index into KeyUses::uses()
};

}  // namespace cleave
