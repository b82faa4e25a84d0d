// What operations that run on the processor alone can use, besides the value.
#pragma once

#include "features/redact/stage/cipher.h"
#include "features/redact/stage/hasher.h"
#include "features/redact/stage/rule_tables.h"
#include "features/redact/stage/value.h"
#include "rows/memory/value_buffer.h"

namespace cleave {

struct OperationContext {
    Hasher& hasher;
    const Cipher& cipher;
    const RuleTables& tables;
    ValueBuffer& scratch;  // for the operation; its content need not last
    Value by{};            // the value of the operation's column `by`, if it has one
    const char* refusal = "";

    // The result of a measure() or write() that refuses the value. The reason must not contain the value.
    std::uint64_t refuse(const char* reason) {
        refusal = reason;
        return kIsRefused;
    }
};

}  // namespace cleave
