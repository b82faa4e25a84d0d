#include "features/redact/stage/rule_scope.h"

#include <algorithm>
#include <optional>

#include "features/redact/stage/arguments.h"
#include "rows/fields/column_list.h"

namespace cleave {
namespace {

KeyUses::Use use_of(const ArgumentSyntax& name, std::string_view operation, const ArgumentSyntax* context) {
    if (context != nullptr && context->value.empty()) Arguments::fail("the context is empty", *context);
    return {name.value, context != nullptr ? context->value : "", std::string(operation)};
}

std::uint32_t known(std::optional<std::uint32_t> index, const ArgumentSyntax& name) {
    if (index) return *index;
    Arguments::fail(
        "there is no key with the name \"" + name.value + "\"; give it by --key " + name.value + "=file:PATH", name);
}

// Adds what `parse` makes of a file.
template <class Table, class Parse>
std::uint32_t add(std::vector<std::shared_ptr<const Table>>& tables, const ArgumentSyntax& file, const Parse& parse) {
    try {
        tables.push_back(std::make_shared<const Table>(parse()));
    } catch (const ArgumentError& error) {
        Arguments::fail(error.what(), file);
    }
    return static_cast<std::uint32_t>(tables.size() - 1);
}

}  // namespace

std::uint32_t RuleScope::use_key(const ArgumentSyntax& name, std::string_view operation,
                                 const ArgumentSyntax* context) {
    return known(keys_.add(use_of(name, operation, context)), name);
}

std::uint32_t RuleScope::use_cipher(const ArgumentSyntax& name, std::string_view operation,
                                    const ArgumentSyntax* context) {
    return known(keys_.add_cipher(use_of(name, operation, context)), name);
}

std::uint32_t RuleScope::column(const ArgumentSyntax& argument) const {
    if (columns_ == nullptr) Arguments::fail("there are no columns", argument);
    return static_cast<std::uint32_t>(columns_->one(argument.column.value(), *source_));
}

std::string_view RuleScope::text_of(const ArgumentSyntax& file) const {
    const auto found = std::ranges::find(files_, file.value, &RuleFile::path);
    if (found == files_.end()) Arguments::fail("the file was not read", file);
    return found->text;
}

std::uint32_t RuleScope::add_list(const ArgumentSyntax& file) {
    return add(tables_->lists, file, [&] { return ValueList(text_of(file)); });
}

std::uint32_t RuleScope::add_hierarchy(const ArgumentSyntax& file, std::uint64_t level) {
    return add(tables_->hierarchies, file, [&] { return Hierarchy(text_of(file), level); });
}

}  // namespace cleave
