// A recursive-descent parser: one function for each line of the grammar, and one token of lookahead.
//
//   line       = rule | default ;
//   default    = "@default" ( "keep" | "null" | "drop" | "fail" ) ;
//   rule       = columns ":" operation [ "if" condition { "and" condition } ] ;
//   operation  = WORD [ "(" [ argument { "," argument } ] ")" ] ;
//   argument   = [ WORD "=" ] ( VALUE | operation ) | "by" "=" column ;      operations nest only once
//   condition  = "string" | column test ;                        the first only for values in JSON Lines
//   test       = "=" VALUE | "!=" VALUE | "in" "{" VALUE { "," VALUE } "}" | "empty" | "not" "empty" ;
//   VALUE      = WORD | QUOTED ;
//
//   columns    = item { "," item } ;                             also the whole of --select
//   item       = [ "!" ] ( column | range | GLOB | "*" ) ;
//   column     = WORD | WORD "[" NUMBER "]" | QUOTED [ "[" NUMBER "]" ] | "#" NUMBER | path ;
//   path       = "." { WORD | QUOTED } ;                         in JSON Lines: rows/fields/json_path.cpp
//   range      = column "-" column ;                             both are words, in one word; or both are "#" NUMBER
//
//   WORD       = one or more bytes, none of them a blank, a control byte or one of , : ( ) { } " = !  (no leading #)
//   GLOB       = a WORD that contains *
//   QUOTED     = '"', bytes in which a doubled '"' stands for one, '"'
//   NUMBER     = digits
//
// Blanks (space, tab) may appear between tokens, but not within WORD "[" NUMBER "]", in a range, or after "#". Words of
// the language, such as `if`, are recognised by their position, so columns and values may have these names.
//
// Here `empty=change` is an argument like any other, except that it must be the last one of the outer operation. It is
// removed from the syntax tree, because it does not depend on the operation.
#include "features/redact/stage/rule_parser.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "rows/fields/rule_scanner.h"

namespace cleave {
namespace {

constexpr std::string_view kEmptyKey = "empty";
constexpr std::string_view kColumnKey = "by";

class RuleParser {
public:
    explicit RuleParser(const RuleText& source) : scanner_(source) {}

    RuleSyntax parse() {
        RuleSyntax rule;
        rule.columns = parse_columns(scanner_);
        if (scanner_.at_end())
            scanner_.fail("there is no operation; write 'COLUMNS: OPERATION', such as 'mail: mask'", scanner_.place());
        scanner_.expect(":", "',' or ':' after a column");
        rule.operation = parse_operation(false);
        rule.changes_empty = take_empty(rule.operation);
        if (scanner_.at_end()) return rule;
        rule.condition_place = scanner_.place();
        if (scanner_.word() != "if") {
            scanner_.fail("expected 'if' or the end after the operation", rule.condition_place);
        }
        rule.conditions.push_back(parse_condition());
        while (!scanner_.at_end()) {
            const std::size_t place = scanner_.place();
            if (scanner_.word() != "and") scanner_.fail("expected 'and' or the end after the condition", place);
            rule.conditions.push_back(parse_condition());
        }
        return rule;
    }

private:
    OperationSyntax parse_operation(bool is_nested) {
        OperationSyntax operation;
        operation.place = scanner_.place();
        operation.name = scanner_.word();
        if (operation.name.empty()) scanner_.expected("an operation");
        if (scanner_.accept("(")) operation.arguments = parse_arguments(is_nested);
        return operation;
    }

    // Continues after the opening parenthesis.
    std::vector<ArgumentSyntax> parse_arguments(bool is_nested) {
        std::vector<ArgumentSyntax> arguments;
        if (scanner_.accept(")")) return arguments;
        do {
            ArgumentSyntax argument = parse_argument(is_nested);
            const bool is_twice = !argument.key.empty() &&
                                  std::ranges::find(arguments, argument.key, &ArgumentSyntax::key) != arguments.end();
            if (is_twice) scanner_.fail("the argument " + argument.key + " is given twice", argument.place);
            if (!arguments.empty() && arguments.back().key == kEmptyKey) {
                scanner_.fail("empty=change must be the last argument", arguments.back().place);
            }
            arguments.push_back(std::move(argument));
        } while (scanner_.accept(","));
        scanner_.expect(")", "',' or ')' after an argument");
        return arguments;
    }

    ArgumentSyntax parse_argument(bool is_nested) {
        ArgumentSyntax argument;
        argument.place = scanner_.place();
        std::size_t value_place = argument.place;
        if (scanner_.next_is("\"")) {
            argument.value = scanner_.quoted();
            argument.is_quoted = true;
            return argument;
        }
        argument.value = scanner_.word();
        if (argument.value.empty()) scanner_.expected("an argument");
        if (scanner_.accept("=")) {
            argument.key = std::move(argument.value);
            if (argument.key == kColumnKey) {
                argument.column = parse_column(scanner_);
                return argument;
            }
            value_place = scanner_.place();
            argument.is_quoted = scanner_.next_is("\"");
            if (scanner_.next_is("#")) scanner_.fail("a text that begins with # needs quotes", value_place);
            argument.value = parse_value();
        }
        if (is_nested && argument.key == kEmptyKey) {
            scanner_.fail("empty=change goes with the outer operation", argument.place);
        }
        if (!argument.is_quoted && scanner_.next_is("(")) {
            if (is_nested) scanner_.fail("operations can be nested only once", scanner_.place());
            OperationSyntax nested;
            nested.place = value_place;
            nested.name = argument.value;
            scanner_.accept("(");
            nested.arguments = parse_arguments(true);
            argument.nested.push_back(std::move(nested));
        }
        return argument;
    }

    bool take_empty(OperationSyntax& operation) const {
        if (operation.arguments.empty() || operation.arguments.back().key != kEmptyKey) return false;
        const ArgumentSyntax& last = operation.arguments.back();
        if (last.value != "change" || !last.nested.empty()) {
            scanner_.fail("the argument empty can only be empty=change", last.place);
        }
        operation.arguments.pop_back();
        return true;
    }

    ConditionSyntax parse_condition() {
        ConditionSyntax condition;
        condition.column = parse_column(scanner_);
        if (condition.column.text == "string" && (scanner_.at_end() || scanner_.next_is("and"))) {
            condition.kind = ConditionKind::kString;
            return condition;
        }
        if (scanner_.accept("=")) {
            condition.values.push_back(parse_value());
        } else if (scanner_.accept("!=")) {
            condition.kind = ConditionKind::kNotEqual;
            condition.values.push_back(parse_value());
        } else {
            parse_word_condition(condition);
        }
        return condition;
    }

    void parse_word_condition(ConditionSyntax& condition) {
        const std::size_t place = scanner_.place();
        const std::string_view word = scanner_.word();
        if (word == "in") {
            scanner_.expect("{", "'{' after 'in'");
            do {
                condition.values.push_back(parse_value());
            } while (scanner_.accept(","));
            scanner_.expect("}", "',' or '}' after a value");
        } else if (word == "empty") {
            condition.kind = ConditionKind::kEmpty;
        } else if (word == "not") {
            const std::size_t empty_place = scanner_.place();
            if (scanner_.word() != "empty") scanner_.fail("expected 'empty' after 'not'", empty_place);
            condition.kind = ConditionKind::kNotEmpty;
        } else {
            scanner_.fail("expected =, !=, in, empty or not empty after the column of a condition", place);
        }
    }

    std::string parse_value() {
        if (scanner_.next_is("\"")) return scanner_.quoted();
        if (!scanner_.next_is_word()) scanner_.expected("a value: a word, or a text in double quotes");
        return std::string(scanner_.word());
    }

    RuleScanner scanner_;
};

}  // namespace

RuleSyntax parse_rule(const RuleText& source) { return RuleParser(source).parse(); }

std::optional<DefaultAction> parse_default(const RuleText& source) {
    constexpr std::array<std::pair<std::string_view, DefaultAction>, 4> kActions = {{{"keep", DefaultAction::kKeep},
                                                                                     {"null", DefaultAction::kNull},
                                                                                     {"drop", DefaultAction::kDrop},
                                                                                     {"fail", DefaultAction::kFail}}};
    RuleScanner scanner(source);
    if (scanner.word() != "@default" || scanner.next_is(":") || scanner.next_is(",")) return std::nullopt;
    const std::size_t place = scanner.place();
    const std::string_view word = scanner.word();
    const auto* found = std::ranges::find(kActions, word, &decltype(kActions)::value_type::first);
    if (found == kActions.end()) scanner.fail("expected keep, null, drop or fail after '@default'", place);
    if (!scanner.at_end()) scanner.expected("the end of the line");
    return found->second;
}

}  // namespace cleave
