#include "features/redact/stage/operations/email.h"

#include "features/redact/stage/arguments.h"

namespace cleave {

Email Email::parse(const OperationSyntax& syntax, RuleScope& scope) {
    Arguments arguments(syntax, "email(local=mask) or email(local=hmac(KEY))");
    const ArgumentSyntax* const local = arguments.take("local", Arguments::Kind::kOperation);
    arguments.finish();
    if (local == nullptr) throw SyntaxError("email needs local=mask or local=hmac(KEY)", syntax.place);

    Email email;
    if (local->value == Hmac::kName && !local->nested.empty()) {
        email.is_hashed = true;
        email.hmac = Hmac::parse(local->nested.front(), scope);
    } else if (local->value != "mask" || (!local->nested.empty() && !local->nested.front().arguments.empty())) {
        Arguments::fail("local is mask or hmac(KEY)", *local);
    }
    return email;
}

}  // namespace cleave
