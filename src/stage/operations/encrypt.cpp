#include "stage/operations/encrypt.h"

#include <algorithm>

#include "stage/arguments.h"
#include "stage/encodings.h"
#include "stage/operation_context.h"
#include "stage/rule_scope.h"
#include "stage/token_prefix.h"

namespace cleave {

Encrypt Encrypt::parse(const OperationSyntax& syntax, RuleScope& scope) {
    Arguments arguments(syntax, "encrypt(KEY, context=TEXT, prefix)");
    const ArgumentSyntax& key = arguments.take_first("the name of a key");
    const ArgumentSyntax* const context = arguments.take("context");
    Encrypt encrypt;
    encrypt.has_prefix = arguments.take_word("prefix");
    arguments.finish();
    encrypt.use = scope.use_cipher(key, "cleave 2 encrypt", context);
    return encrypt;
}

std::uint64_t Encrypt::bound(std::uint64_t size) const {
    return (has_prefix ? kTokenPrefix.size() : 0) + base64url_size(size + Cipher::kOverhead);
}

std::uint64_t Encrypt::write(Value value, std::uint8_t* out, OperationContext& context) const {
    std::uint8_t* const token = has_prefix ? std::ranges::copy(kTokenPrefix, out).out : out;
    const std::uint64_t sealed = value.size + Cipher::kOverhead;
    context.scratch.renew(sealed);
    context.cipher.seal(use, value, context.scratch.data());
    return static_cast<std::uint64_t>(token - out) + write_base64url(context.scratch.data(), sealed, token);
}

}  // namespace cleave
