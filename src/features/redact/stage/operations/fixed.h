// fixed(TEXT): every value becomes TEXT.
#pragma once

#include <cstdint>

#include "features/redact/stage/bytes.h"
#include "features/redact/stage/syntax.h"
#include "features/redact/stage/value.h"

namespace cleave {

struct Fixed {
    static constexpr const char* kName = "fixed";
    static constexpr std::uint64_t kMaxSize = 4096;

    static Fixed parse(const OperationSyntax& syntax, RuleScope& scope);

    CLEAVE_DEVICE std::uint64_t bound(std::uint64_t) const { return size; }

    template <class H>
    CLEAVE_DEVICE std::uint64_t measure(Value, H&) const {
        return size;
    }

    template <class H>
    CLEAVE_DEVICE std::uint64_t write(Value, std::uint8_t* out, H&) const {
        return copy_bytes(out, text, size);
    }

    std::uint64_t size = 0;
    std::uint8_t text[kMaxSize] = {};
};

}  // namespace cleave
