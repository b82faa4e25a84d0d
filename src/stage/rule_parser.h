// From the text of a rule to its parts. Knows the grammar only: neither the columns of an input nor the operations.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "stage/column_list.h"
#include "stage/rules.h"
#include "stage/syntax.h"

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
    std::size_t condition_place = 0;  // of the word `if`, if there are conditions
};

// The parts of a rule. Throws RuleError.
RuleSyntax parse_rule(const RuleText& source);

// The action of a line "@default ACTION". Nothing if the text is a rule. Throws RuleError if ACTION is unknown.
std::optional<DefaultAction> parse_default(const RuleText& source);

}  // namespace cleave
