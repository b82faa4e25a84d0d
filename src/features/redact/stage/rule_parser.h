// Parses the text of a rule. Knows only the grammar, and nothing about the columns of an input or the operations.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "features/redact/stage/rules.h"
#include "features/redact/stage/syntax.h"
#include "rows/fields/column_list.h"

namespace cleave {

struct ConditionSyntax {
    ColumnSyntax column;
    ConditionKind kind = ConditionKind::kIn;
    std::vector<std::string> values;
};

struct RuleSyntax {
    std::vector<ColumnSyntax> columns;
    OperationSyntax operation;  // without `empty=change`
    bool changes_empty = false;
    std::vector<ConditionSyntax> conditions;
    std::size_t condition_place = 0;  // the byte offset of the word `if`, if there are conditions
};

// Parses a rule. Throws RuleError.
RuleSyntax parse_rule(const RuleText& source);

// The action of a line "@default ACTION"; std::nullopt if the text is a rule. Throws RuleError if ACTION is unknown.
std::optional<DefaultAction> parse_default(const RuleText& source);

}  // namespace cleave
