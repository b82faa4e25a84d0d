#include "features/redact/stage/operations/encrypt.h"

#include "features/redact/stage/arguments.h"
#include "features/redact/stage/encodings.h"
#include "features/redact/stage/operation_context.h"
#include "features/redact/stage/rule_scope.h"

namespace cleave {

Encrypt Encrypt::parse(const OperationSyntax& syntax, RuleScope& scope) {
    Arguments arguments(syntax, "encrypt(KEY, context=TEXT, prefix)");
    const ArgumentSyntax& key = arguments.take_first("the name of a key");
    const ArgumentSyntax* const context = arguments.take("context");
    Encrypt encrypt;
    if (arguments.take_word("prefix")) encrypt.prefix = scope.prefix_of(key);
    arguments.finish();
    encrypt.use = scope.use_cipher(key, "cleave 2 encrypt", context);
    return encrypt;
}

std::uint64_t Encrypt::bound(std::uint64_t size) const {
    return prefix.size() + base64url_size(size + Cipher::kOverhead);
}

std::uint64_t Encrypt::write(Value value, std::uint8_t* out, OperationContext& context) const {
    std::uint8_t* const token = out + prefix.write(out);
    const std::uint64_t sealed = value.size + Cipher::kOverhead;
    context.scratch.renew(sealed);
    context.cipher.seal(use, value, context.scratch.data());
    return static_cast<std::uint64_t>(token - out) + write_base64url(context.scratch.data(), sealed, token);
}

}  // namespace cleave
