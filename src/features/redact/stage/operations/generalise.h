// generalise(FILE[, level=N]): what the table in FILE says that the value becomes; see Hierarchy. A value that the
// table does not have is refused.
#pragma once

#include <cstdint>

#include "features/redact/stage/syntax.h"
#include "features/redact/stage/value.h"

namespace cleave {

struct Generalise : CpuOperation {
    static constexpr const char* kName = "generalise";

    static Generalise parse(const OperationSyntax& syntax, RuleScope& scope);
    // The argument that names a file; nullptr if there is none.
    static const ArgumentSyntax* file_of(const OperationSyntax& syntax);

    std::uint64_t bound(std::uint64_t) const { return longest; }
    std::uint64_t measure(Value value, OperationContext& context) const;
    std::uint64_t write(Value value, std::uint8_t* out, OperationContext& context) const;

    std::uint32_t hierarchy = 0;  // an index into RuleTables::hierarchies
    std::uint64_t longest = 0;
};

}  // namespace cleave
