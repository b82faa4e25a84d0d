#include "features/redact/stage/operations/generalise.h"

#include "features/redact/stage/arguments.h"
#include "features/redact/stage/bytes.h"
#include "features/redact/stage/operation_context.h"
#include "features/redact/stage/rule_scope.h"

namespace cleave {
namespace {

constexpr const char* kUnknown = "a value that the table of generalise does not have; a record `*` covers all others";

}  // namespace

const ArgumentSyntax* Generalise::file_of(const OperationSyntax& syntax) {
    return !syntax.arguments.empty() && syntax.arguments[0].key.empty() ? syntax.arguments.data() : nullptr;
}

Generalise Generalise::parse(const OperationSyntax& syntax, RuleScope& scope) {
    constexpr std::uint64_t kMaxLevel = 1000;
    Arguments arguments(syntax, "generalise(FILE, level=N)");
    const ArgumentSyntax& file = arguments.take_first("the name of a file");
    const std::uint64_t level = arguments.take_number("level", 1, kMaxLevel, 1);
    arguments.finish();
    Generalise generalise;
    generalise.hierarchy = scope.add_hierarchy(file, level);
    generalise.longest = scope.tables().hierarchies[generalise.hierarchy]->longest();
    return generalise;
}

std::uint64_t Generalise::measure(Value value, OperationContext& context) const {
    const std::string* const label = context.tables.hierarchies[hierarchy]->find(value);
    return label != nullptr ? label->size() : context.refuse(kUnknown);
}

std::uint64_t Generalise::write(Value value, std::uint8_t* out, OperationContext& context) const {
    const std::string* const label = context.tables.hierarchies[hierarchy]->find(value);
    if (label == nullptr) return context.refuse(kUnknown);
    return copy_bytes(out, reinterpret_cast<const std::uint8_t*>(label->data()), label->size());
}

}  // namespace cleave
