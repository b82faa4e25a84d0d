// Rules as plain data, resolved against the columns of an input. resolve_rules() makes them from texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cleave/stage.h"
#include "cleave/stage_error.h"
#include "stage/flat_program.h"
#include "stage/operation.h"

namespace cleave {

// What the user asks for.
struct RuleRequest {
    std::optional<RuleText> select;
    std::vector<RuleText> rules;  // in order; an "@default ACTION" line of a file is one of them
    std::optional<DefaultAction> default_action;
};

// The columns of an input.
struct InputColumns {
    std::size_t count = 0;
    std::vector<std::string> names;  // values of the header's fields; empty if the input has no header
    bool is_delimiter_given = true;  // false: it was sniffed, and columns by number are refused
    bool is_header_given = true;     // whether -H or --header was said; if not, columns by number are refused
    bool shows_names = true;         // false: a name is what must not be shown, so messages have numbers instead
};

// Whether a message may show the name of a column. A quote that is missing makes records a part of the header, so a
// name with a line end in it, or a very long one, may hold values.
bool is_for_messages(std::string_view name);

// A condition of a rule, on the value of a column of the input. Values are compared byte for byte.
struct Condition {
    std::size_t column = 0;
    ConditionKind kind = ConditionKind::kIn;
    std::vector<std::string> values;
};

struct Rule {
    RuleText source;
    std::vector<std::size_t> columns;  // in the order of the input
    Operation operation;
    std::string operation_name;
    bool changes_empty = false;         // the last argument is `empty=change`
    std::vector<Condition> conditions;  // all must hold
};

struct RuleSet {
    std::size_t column_count = 0;       // of the input
    std::vector<std::string> names;     // of the input's columns; "#1" and so on without a header
    std::vector<std::size_t> selected;  // the columns of the output, in its order
    std::vector<Rule> rules;            // a default other than keep adds one at the end, for the columns it acts on
    // For each column of the input, the rules that name it, in order, up to the first one without a condition.
    std::vector<std::vector<std::size_t>> of_column;
    std::vector<std::size_t> unnamed;  // selected columns that no rule names and that are kept
};

class KeyUses;

// Throws RuleError.
RuleSet resolve_rules(const RuleRequest& request, const InputColumns& columns, KeyUses& keys);

// The columns of an input whose first record is this; see Stage. `is_header_given` is set only if the dialect has no
// header: whoever asks adds what the user has said. Throws InputError where the record is malformed.
InputColumns input_columns(std::span<const std::uint8_t> first_record, const Dialect& dialect, bool has_header);

// A rules file that names every column with `fail`, as a start for a user's own.
std::string rules_template(const InputColumns& columns);

}  // namespace cleave
