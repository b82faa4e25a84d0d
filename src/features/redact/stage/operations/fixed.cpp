#include "features/redact/stage/operations/fixed.h"

#include <algorithm>
#include <string>

#include "features/redact/stage/arguments.h"

namespace cleave {

Fixed Fixed::parse(const OperationSyntax& syntax, RuleScope&) {
    Arguments arguments(syntax, "fixed(TEXT)");
    const ArgumentSyntax& argument = arguments.take_first("the text");
    arguments.finish();
    if (argument.value.size() > kMaxSize) {
        Arguments::fail("the text has more than " + std::to_string(kMaxSize) + " bytes", argument);
    }
    Fixed fixed;
    fixed.size = argument.value.size();
    std::ranges::copy(argument.value, fixed.text);
    return fixed;
}

}  // namespace cleave
