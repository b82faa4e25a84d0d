// The paths that rules on JSON Lines name, as columns.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "features/redact/stage/rule_parser.h"
#include "features/redact/stage/rules.h"

namespace cleave {

// Members throw RuleError.
class JsonColumns {
public:
    // Takes all paths that the rules and --select name.
    explicit JsonColumns(const RuleRequest& request);

    const InputColumns& columns() const { return columns_; }
    const std::vector<JsonRules::Path>& paths() const { return paths_; }

    // Replaces the paths in a rule with the names of their columns.
    void name(RuleSyntax& rule, const RuleText& source);
    // The paths in --select, and whether they are to be left out.
    std::vector<std::pair<std::size_t, bool>> selection(const RuleText& source);

private:
    std::size_t take(ColumnSyntax& column, const RuleText& source);
    void look_up(ColumnSyntax& column, std::span<const std::size_t> from, const RuleText& source);
    void name(OperationSyntax& operation, std::span<const std::size_t> from, const RuleText& source);

    InputColumns columns_;
    std::vector<JsonRules::Path> paths_;
};

}  // namespace cleave
