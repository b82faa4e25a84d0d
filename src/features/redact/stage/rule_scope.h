// What the arguments of an operation can name: keys, columns of the input, and files.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cleave/stage.h"
#include "features/redact/stage/key_names.h"
#include "features/redact/stage/rule_tables.h"
#include "features/redact/stage/syntax.h"
#include "features/redact/stage/token_prefix.h"

namespace cleave {

class ColumnFinder;

// For the arguments of one rule. All members throw SyntaxError or RuleError, with the place of the argument.
class RuleScope {
public:
    // A rule without columns or files.
    explicit RuleScope(KeyUses& keys) : keys_(keys) {}
    // All arguments must outlive the scope.
    RuleScope(KeyUses& keys, const ColumnFinder& columns, std::span<const RuleFile> files, const RuleText& source,
              RuleTables& tables)
        : keys_(keys), columns_(&columns), files_(files), source_(&source), tables_(&tables) {}

    // The index of a use of the key that the argument names; see KeyUses. `operation` is the label from which the key
    // is derived, or empty.
    std::uint32_t use_key(const ArgumentSyntax& name, std::string_view operation, const ArgumentSyntax* context);
    std::uint32_t use_cipher(const ArgumentSyntax& name, std::string_view operation, const ArgumentSyntax* context);

    // What precedes the key's tokens of version 2 if a prefix is asked for.
    TokenPrefix prefix_of(const ArgumentSyntax& key) const { return TokenPrefix(keys_.version_of(key.value)); }

    // The column that the argument, `by`, names.
    std::uint32_t column(const ArgumentSyntax& argument) const;

    // The index in RuleTables of the parsed file that the argument names.
    std::uint32_t add_list(const ArgumentSyntax& file);
    std::uint32_t add_hierarchy(const ArgumentSyntax& file, std::uint64_t level);
    const RuleTables& tables() const { return *tables_; }

private:
    std::string_view text_of(const ArgumentSyntax& file) const;

    KeyUses& keys_;
    const ColumnFinder* columns_ = nullptr;
    std::span<const RuleFile> files_;
    const RuleText* source_ = nullptr;
    RuleTables* tables_ = nullptr;
};

}  // namespace cleave
