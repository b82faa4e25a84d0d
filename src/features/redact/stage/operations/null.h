// null: every value becomes null.
#pragma once

#include <cstdint>

#include "features/redact/stage/arguments.h"
#include "features/redact/stage/syntax.h"
#include "features/redact/stage/value.h"

namespace cleave {

struct Null {
    static constexpr const char* kName = "null";

    static Null parse(const OperationSyntax& syntax, RuleScope&) {
        refuse_arguments(syntax);
        return {};
    }

    CLEAVE_DEVICE static std::uint64_t bound(std::uint64_t) { return 0; }

    template <class H>
    CLEAVE_DEVICE std::uint64_t measure(Value, H&) const {
        return kBecomesNull;
    }

    template <class H>
    CLEAVE_DEVICE std::uint64_t write(Value, std::uint8_t*, H&) const {
        return kBecomesNull;
    }
};

}  // namespace cleave
