// keep: the value stays as it is.
#pragma once

#include <cstdint>

#include "features/redact/stage/arguments.h"
#include "features/redact/stage/bytes.h"
#include "features/redact/stage/syntax.h"
#include "features/redact/stage/value.h"

namespace cleave {

struct Keep {
    static constexpr const char* kName = "keep";

    static Keep parse(const OperationSyntax& syntax, RuleScope&) {
        refuse_arguments(syntax);
        return {};
    }

    CLEAVE_DEVICE static std::uint64_t bound(std::uint64_t size) { return size; }

    template <class H>
    CLEAVE_DEVICE std::uint64_t measure(Value value, H&) const {
        return value.size;
    }

    template <class H>
    CLEAVE_DEVICE std::uint64_t write(Value value, std::uint8_t* out, H&) const {
        return copy_bytes(out, value.data, value.size);
    }
};

}  // namespace cleave
