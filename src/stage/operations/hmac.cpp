#include "stage/operations/hmac.h"

#include <optional>
#include <string>

#include "stage/arguments.h"

namespace cleave {
namespace {

Hmac::Form form_of(const ArgumentSyntax& argument) {
    if (argument.value == "base64url") return Hmac::Form::kBase64url;
    if (argument.value == "hex") return Hmac::Form::kHex;
    if (argument.value == "decimal") return Hmac::Form::kDecimal;
    Arguments::fail("form is base64url, hex or decimal", argument);
}

}  // namespace

Hmac Hmac::parse(const OperationSyntax& syntax, KeyUses& keys) {
    Arguments arguments(syntax, "hmac(KEY, bytes=8..32, form=base64url|hex|decimal, context=TEXT, trim, lower)");
    const ArgumentSyntax& key = arguments.take_first("the name of a key");
    const ArgumentSyntax* const bytes = arguments.take("bytes");
    const ArgumentSyntax* const form = arguments.take("form");
    const ArgumentSyntax* const context = arguments.take("context");

    Hmac hmac;
    hmac.bytes = static_cast<std::uint8_t>(arguments.take_number("bytes", 8, 32, 16));
    hmac.is_trimmed = arguments.take_word("trim");
    hmac.is_lowered = arguments.take_word("lower");
    arguments.finish();
    if (form != nullptr) hmac.form = form_of(*form);
    if (hmac.form == Form::kDecimal && bytes != nullptr) Arguments::fail("form=decimal has no bytes", *bytes);
    if (context != nullptr && context->value.empty()) Arguments::fail("the context is empty", *context);

    const std::optional<std::uint32_t> use = keys.add(key.value, context != nullptr ? context->value : "");
    if (!use.has_value())
        Arguments::fail(
            "there is no key with the name \"" + key.value + "\"; give it by --key " + key.value + "=file:PATH", key);
    hmac.use = *use;
    return hmac;
}

}  // namespace cleave
