// suppress(k=K): the values of the rule's columns become null in records whose combination of values in these columns
// is rare: fewer than K records have it. Values are compared as the other rules write them, so what is rare depends on
// what a recipient would see. Afterwards, every combination is that of at least K records.
//
// Which combinations are rare is known only after all records have been read, so there are two passes: the first counts
// (see lane/record_classes.h), and in the second, a record is rare unless Program::common has its combination. To the
// rest of the stage, this is a rule that makes values null, stands before all others, and has the condition kRare.
#pragma once

#include <cstdint>

#include "features/redact/stage/arguments.h"
#include "features/redact/stage/operation_context.h"
#include "features/redact/stage/syntax.h"
#include "features/redact/stage/value.h"

namespace cleave {

struct Suppress : CpuOperation {
    static constexpr const char* kName = "suppress";
    static constexpr std::uint64_t kMost = 1'000'000'000;

    static Suppress parse(const OperationSyntax& syntax, RuleScope&) {
        Arguments arguments(syntax, "suppress(k=NUMBER)");
        Suppress suppress;
        suppress.least = arguments.take_number("k", 2, kMost, 0);
        arguments.finish();
        if (suppress.least == 0) throw SyntaxError("suppress needs k=NUMBER, such as k=5", syntax.place);
        return suppress;
    }

    static std::uint64_t bound(std::uint64_t) { return 0; }
    static std::uint64_t measure(Value, OperationContext&) { return kBecomesNull; }
    static std::uint64_t write(Value, std::uint8_t*, OperationContext&) { return kBecomesNull; }

    std::uint64_t least = 2;  // K
};

}  // namespace cleave
