// encrypt(KEY[, context=TEXT][, prefix]): a token that a holder of the key can turn back into the value, with decrypt:
// AES-SIV (RFC 5297) in base64url; see stage/cipher.h. It shows the length of the value, and which values are equal.
#pragma once

#include <cstdint>

#include "features/redact/stage/syntax.h"
#include "features/redact/stage/token_prefix.h"
#include "features/redact/stage/value.h"

namespace cleave {

struct Encrypt : CpuOperation {
    static constexpr const char* kName = "encrypt";

    static Encrypt parse(const OperationSyntax& syntax, RuleScope& scope);

    std::uint64_t bound(std::uint64_t size) const;
    std::uint64_t measure(Value value, OperationContext&) const { return bound(value.size); }
    std::uint64_t write(Value value, std::uint8_t* out, OperationContext& context) const;

    std::uint32_t use = 0;  // an index into KeyUses::ciphers()
    TokenPrefix prefix;
};

}  // namespace cleave
