// Rules as plain data, resolved against the columns of an input. resolve_rules() creates them from text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cleave/stage.h"
#include "cleave/stage_error.h"
#include "features/redact/stage/flat_program.h"
#include "features/redact/stage/operation.h"
#include "features/redact/stage/rule_tables.h"
#include "rows/fields/columns.h"
#include "rows/fields/json_path.h"

namespace cleave {

// What the user asks for.
struct RuleRequest {
    std::optional<RuleText> select;
    std::vector<RuleText> rules;  // in order, including any "@default ACTION" line of a file
    std::optional<DefaultAction> default_action;
    std::span<const RuleFile> files;
};

// A condition of a rule on the value of an input column. Values are compared byte for byte.
struct Condition {
    std::size_t column = 0;
    ConditionKind kind = ConditionKind::kIn;
    std::vector<std::string> values;
};

struct Rule {
    RuleText source;
    std::vector<std::size_t> columns;  // in the order of the input
    // The bytes of the operation, and its index in the variant Operation, which itself would take more than 4 KiB for
    // each rule.
    std::vector<std::uint8_t> operation;
    std::size_t operation_kind = 0;
    std::string operation_name;
    bool changes_empty = false;         // the last argument is `empty=change`
    std::vector<Condition> conditions;  // all must hold
};

// The operation of the rule, if it is an X; otherwise nullptr.
template <class X>
const X* operation_of(const Rule& rule) {
    constexpr std::size_t kKind = Operation(std::in_place_type<X>).index();
    return rule.operation_kind == kKind ? reinterpret_cast<const X*>(rule.operation.data()) : nullptr;
}

// What rules on JSON Lines have besides. The paths in the rules and in --select take the place of columns.
struct JsonRules {
    struct Path {
        JsonPath path;
        RuleText source;  // where it was first named without a `?`
        std::size_t place = 0;
        bool is_optional = false;   // followed by a `?` everywhere: it may lead nowhere
        bool is_looked_up = false;  // for a condition or an operation
    };
    std::vector<Path> paths;
    std::vector<std::pair<std::size_t, bool>> selection;  // paths in --select, and whether they have a `!`
    std::size_t first_implied = SIZE_MAX;                 // from this rule on, `keep` for what `if string` passes over
    std::optional<std::size_t> default_rule;              // `null`, for strings that no rule names; the last rule
    bool fails_at_unnamed = false;                        // such strings are refused
};

struct RuleSet {
    std::size_t column_count = 0;       // of the input
    std::vector<std::string> names;     // of the input's columns; "#1" and so on without a header
    std::vector<std::size_t> selected;  // the columns of the output, in its order
    std::vector<Rule> rules;            // a default of null adds one at the end, for the columns that it applies to
    // For each input column, the rules that name it, in order, up to the first without a condition.
    std::vector<std::vector<std::size_t>> of_column;
    std::vector<std::size_t> unnamed;                    // selected columns that no rule names and that are kept
    std::optional<std::size_t> suppress = std::nullopt;  // the number of the rule, if there is one
    RuleTables tables;                                   // the files that rules name
    std::optional<JsonRules> json = std::nullopt;        // only for JSON Lines
};

class KeyUses;

// Throws RuleError. In JSON Lines, `columns` says only that, and the paths in the request become the columns.
RuleSet resolve_rules(const RuleRequest& request, const InputColumns& columns, KeyUses& keys);

// The columns of an input that begins with this record; see Stage. `is_header_given` is set only if the dialect has no
// header; the caller adds what the user has specified. Throws InputError if the record is malformed.
InputColumns input_columns(std::span<const std::uint8_t> first_record, const Dialect& dialect, bool has_header);

// A rules file that names every column with `fail`, as a starting point for the user.
std::string rules_template(const InputColumns& columns);

}  // namespace cleave
