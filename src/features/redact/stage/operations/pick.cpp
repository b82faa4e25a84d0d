#include "features/redact/stage/operations/pick.h"

#include "features/redact/stage/arguments.h"
#include "features/redact/stage/big_endian.h"
#include "features/redact/stage/bytes.h"
#include "features/redact/stage/mac.h"
#include "features/redact/stage/operation_context.h"
#include "features/redact/stage/rule_scope.h"

namespace cleave {
namespace {

const std::string& picked(const Pick& pick, Value value, OperationContext& context) {
    std::uint8_t digest[kMacSize];
    context.hasher.token(pick.use, value, digest);
    const ValueList& list = *context.tables.lists[pick.list];
    return list[scaled_down(big_endian_number(digest), list.count())];
}

}  // namespace

const ArgumentSyntax* Pick::file_of(const OperationSyntax& syntax) {
    return syntax.arguments.size() > 1 && syntax.arguments[1].key.empty() ? &syntax.arguments[1] : nullptr;
}

Pick Pick::parse(const OperationSyntax& syntax, RuleScope& scope) {
    Arguments arguments(syntax, "pick(KEY, FILE, context=TEXT)");
    const ArgumentSyntax& key = arguments.take_first("the name of a key");
    const ArgumentSyntax& file = arguments.take_plain(1, "the name of a file");
    const ArgumentSyntax* const context = arguments.take("context");
    arguments.finish();
    Pick pick;
    pick.use = scope.use_key(key, "cleave 2 pick", context);
    pick.list = scope.add_list(file);
    pick.longest = scope.tables().lists[pick.list]->longest();
    return pick;
}

std::uint64_t Pick::measure(Value value, OperationContext& context) const {
    return picked(*this, value, context).size();
}

std::uint64_t Pick::write(Value value, std::uint8_t* out, OperationContext& context) const {
    const std::string& text = picked(*this, value, context);
    return copy_bytes(out, reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

}  // namespace cleave
