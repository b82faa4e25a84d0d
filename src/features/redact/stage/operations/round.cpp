#include "features/redact/stage/operations/round.h"

#include "features/redact/stage/arguments.h"

namespace cleave {

Round Round::parse(const OperationSyntax& syntax, RuleScope&) {
    Arguments arguments(syntax, "round(WIDTH)");
    const ArgumentSyntax& argument = arguments.take_first("the width");
    arguments.finish();
    const ScaledLimit width = Arguments::to_scaled(argument, ScaledNumber::kMaxDigits);
    if (width.units == 0) Arguments::fail("the width is above 0", argument);
    Round round;
    round.width = width.units;
    round.decimals = width.decimals;
    return round;
}

}  // namespace cleave
