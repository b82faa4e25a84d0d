#include "features/redact/stage/operations/suppress.h"

#include "features/redact/stage/arguments.h"

namespace cleave {

Suppress Suppress::parse(const OperationSyntax& syntax, RuleScope&) {
    Arguments arguments(syntax, "suppress(k=NUMBER)");
    Suppress suppress;
    suppress.least = arguments.take_number("k", 2, kMost, 0);
    arguments.finish();
    if (suppress.least == 0) throw SyntaxError("suppress needs k=NUMBER, such as k=5", syntax.place);
    return suppress;
}

}  // namespace cleave
