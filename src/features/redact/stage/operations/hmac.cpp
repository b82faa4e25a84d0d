#include "features/redact/stage/operations/hmac.h"

#include "features/redact/stage/arguments.h"
#include "features/redact/stage/rule_scope.h"

namespace cleave {
namespace {

Hmac::Form form_of(const ArgumentSyntax& argument) {
    if (argument.value == "base64url") return Hmac::Form::kBase64url;
    if (argument.value == "hex") return Hmac::Form::kHex;
    if (argument.value == "decimal") return Hmac::Form::kDecimal;
    Arguments::fail("form is base64url, hex or decimal", argument);
}

}  // namespace

Hmac Hmac::parse(const OperationSyntax& syntax, RuleScope& scope) {
    Arguments arguments(
        syntax, "hmac(KEY, bytes=8..32, form=base64url|hex|decimal, context=TEXT, trim, lower, version=1|2, prefix)");
    const ArgumentSyntax& key = arguments.take_first("the name of a key");
    const ArgumentSyntax* const bytes = arguments.take("bytes");
    const ArgumentSyntax* const form = arguments.take("form");
    const ArgumentSyntax* const context = arguments.take("context");

    Hmac hmac;
    hmac.bytes = static_cast<std::uint8_t>(arguments.take_number("bytes", 8, 32, 16));
    hmac.version = static_cast<std::uint8_t>(arguments.take_number("version", 1, 2, 1));
    const bool has_prefix = arguments.take_word("prefix");
    hmac.is_trimmed = arguments.take_word("trim");
    hmac.is_lowered = arguments.take_word("lower");
    arguments.finish();
    if (has_prefix && hmac.version == 1) throw SyntaxError("prefix needs version=2", syntax.place);
    if (form != nullptr) hmac.form = form_of(*form);
    if (hmac.form == Form::kDecimal && bytes != nullptr) Arguments::fail("form=decimal has no bytes", *bytes);
    hmac.use = scope.use_key(key, hmac.version == 1 ? "" : "cleave 2 hmac", context);
    if (has_prefix) hmac.prefix = scope.prefix_of(key);
    const std::uint64_t digits = hmac.form == Form::kDecimal ? kMaxDecimalDigits
                                 : hmac.form == Form::kHex   ? hex_size(hmac.bytes)
                                                             : base64url_size(hmac.bytes);
    hmac.longest = static_cast<std::uint8_t>(hmac.prefix.size() + digits);
    return hmac;
}

}  // namespace cleave
