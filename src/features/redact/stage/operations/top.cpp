#include "features/redact/stage/operations/top.h"

#include <algorithm>

#include "features/redact/stage/arguments.h"

namespace cleave {

Top Top::parse(const OperationSyntax& syntax, RuleScope&) {
    Arguments arguments(syntax, "top(LIMIT)");
    const ArgumentSyntax& argument = arguments.take_first("the limit");
    arguments.finish();
    const ScaledLimit limit = Arguments::to_scaled(argument, ScaledNumber::kMaxDigits);
    Top top;
    top.limit = limit.units;
    top.decimals = limit.decimals;
    top.text_size = argument.value.size();
    std::ranges::copy(argument.value, top.text);
    return top;
}

}  // namespace cleave
