#include "features/redact/stage/operations/decrypt.h"

#include <optional>

#include "features/redact/stage/arguments.h"
#include "features/redact/stage/encodings.h"
#include "features/redact/stage/operation_context.h"
#include "features/redact/stage/rule_scope.h"
#include "features/redact/stage/token_prefix.h"

namespace cleave {
namespace {

constexpr const char* kNoToken = "no token that this key has encrypted";

}  // namespace

Decrypt Decrypt::parse(const OperationSyntax& syntax, RuleScope& scope) {
    Arguments arguments(syntax, "decrypt(KEY, context=TEXT)");
    const ArgumentSyntax& key = arguments.take_first("the name of a key");
    const ArgumentSyntax* const context = arguments.take("context");
    arguments.finish();
    Decrypt decrypt;
    decrypt.use = scope.use_cipher(key, "cleave 2 encrypt", context);
    return decrypt;
}

std::uint64_t Decrypt::measure(Value value, OperationContext& context) const { return write(value, nullptr, context); }

std::uint64_t Decrypt::write(Value value, std::uint8_t* out, OperationContext& context) const {
    const Value token = without_prefix(value);
    context.scratch.renew(2 * token.size);  // for the bytes of the token and, if they are only measured, the value
    std::uint8_t* const bytes = context.scratch.data();
    const std::optional<std::uint64_t> sealed = read_base64url(token.data, token.size, bytes);
    if (out == nullptr) out = bytes + token.size;
    if (!sealed || !context.cipher.open(use, {bytes, *sealed}, out)) return context.refuse(kNoToken);
    return *sealed - Cipher::kOverhead;
}

}  // namespace cleave
