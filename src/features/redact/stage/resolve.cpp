// Turns the text of rules into rules for the columns of one input:
//
//   1. Take the `@default` lines out of the texts. There must be at most one default.
//   2. Look up --select, and the columns, operation and conditions of each rule.
//   3. Refuse to change values below a header that is not vouched for: it may be data, which would not be changed.
//   4. For each column, collect the rules that name it, up to the first one without a condition. `suppress` comes
//      before all others, wherever it was written.
//   5. Refuse a column whose rules all have conditions: a value could slip through.
//   6. Apply the default to the output columns that no rule names. If they are kept, refuse one whose name is similar
//      to the name of a column with a rule: the user may have meant both.
//
// The user vouches for the header with -H or --header, or with a rule or --select that names one of its columns. Until
// then, messages do not name any columns, because the name may be a value.
//
// Every check looks at all rules, even for columns that are dropped.
//
// In JSON Lines, every path that rules and --select name counts as a column whose name is the path. So the first step
// is to collect them. Whether they lead anywhere is only known once all lines have been read.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "features/redact/stage/json_paths.h"
#include "features/redact/stage/key_names.h"
#include "features/redact/stage/rule_parser.h"
#include "features/redact/stage/rule_scope.h"
#include "features/redact/stage/rules.h"
#include "features/redact/stage/similar_names.h"
#include "rows/fields/column_list.h"

namespace cleave {
namespace {

// What happens to unnamed columns, and where the user specified it.
struct Default {
    DefaultAction action;
    RuleText source;
};

std::string_view name_of(DefaultAction action) {
    switch (action) {
        case DefaultAction::kKeep: return "keep";
        case DefaultAction::kNull: return "null";
        case DefaultAction::kDrop: return "drop";
        case DefaultAction::kFail: break;
    }
    return "fail";
}

[[noreturn]] void fail(const std::string& reason, const RuleText& source, std::size_t place) {
    throw RuleError(reason, source.origin, source.text, place);
}

// Whether --select or a rule names a column. One that cannot be parsed names none.
bool has_name_of(const InputColumns& columns, const RuleRequest& request) {
    const auto has_name = [&](const RuleText& text, bool is_rule) {
        try {
            RuleScanner scanner(text);
            const auto list = is_rule ? parse_rule(text).columns : parse_columns(scanner);
            return std::ranges::any_of(list, [&](const auto& item) { return is_name_of_column(item, columns); });
        } catch (const RuleError&) {  // the resolver reports what is wrong
            return false;
        }
    };
    return (request.select && has_name(*request.select, false)) ||
           std::ranges::any_of(request.rules, [&](const RuleText& rule) { return has_name(rule, true); });
}

class Resolver {
public:
    // `json` is null unless the columns are those of JSON Lines.
    Resolver(const RuleRequest& request, const InputColumns& columns, KeyUses& keys, JsonColumns* json)
        : request_(request),
          columns_(columns),
          json_(json),
          keys_(keys),
          is_vouched_for_(columns.names.empty() || columns.is_header_given || has_name_of(columns, request)),
          shows_names_(is_vouched_for_ && columns.shows_names),
          finder_(columns, shows_names_ ? ColumnFinder::Names::kShown : ColumnFinder::Names::kHidden) {}

    RuleSet resolve() {
        rules_.column_count = columns_.count;
        if (shows_names_) rules_.names = columns_.names;
        for (std::size_t i = rules_.names.size(); i < columns_.count; ++i) {
            rules_.names.push_back("#" + std::to_string(i + 1));
        }
        rules_.of_column.resize(columns_.count);
        if (json_ != nullptr) rules_.json.emplace().paths = json_->paths();
        if (request_.default_action) {
            default_ =
                Default{*request_.default_action, {std::string(name_of(*request_.default_action)), "--redact-default"}};
        }
        select();
        rules_.rules.reserve(request_.rules.size() + 1);  // and the default
        for (const RuleText& text : request_.rules) {
            if (const std::optional<DefaultAction> action = parse_default(text)) {
                set_default(*action, text);
            } else {
                add_rule(text);
            }
        }
        collect_rules();
        check_header();
        check_ends();
        apply_default();
        return std::move(rules_);
    }

private:
    void select() {
        if (json_ != nullptr) {
            if (request_.select) rules_.json->selection = json_->selection(*request_.select);
        } else if (request_.select) {
            RuleScanner scanner(*request_.select);
            const std::vector<ColumnSyntax> list = parse_columns(scanner);
            if (!scanner.at_end()) scanner.expected("',' or the end after a column");
            rules_.selected = finder_.selection(list, *request_.select);
        } else {
            rules_.selected.resize(columns_.count);
            std::iota(rules_.selected.begin(), rules_.selected.end(), std::size_t{0});
        }
    }

    void set_default(DefaultAction action, const RuleText& source) {
        if (default_) fail("the default is given twice: first in " + default_->source.origin, source, 0);
        default_ = Default{action, source};
    }

    void add_rule(const RuleText& source) {
        RuleSyntax syntax = parse_rule(source);
        if (json_ != nullptr) json_->name(syntax, source);
        Rule rule;
        rule.source = source;
        rule.columns = finder_.set(syntax.columns, source);
        set(rule, make(syntax.operation, rule.columns, source));
        rule.operation_name = syntax.operation.name;
        rule.changes_empty = syntax.changes_empty;
        for (const ConditionSyntax& condition : syntax.conditions) {
            if (condition.kind == ConditionKind::kString) {
                if (json_ == nullptr) fail("only values in JSON Lines can be a string", source, condition.column.place);
                rule.conditions.push_back({SIZE_MAX, condition.kind, {}});
                continue;
            }
            rule.conditions.push_back({finder_.one(condition.column, source), condition.kind, condition.values});
        }
        if (operation_of<Suppress>(rule) != nullptr) settle_suppress(rule, syntax);
        places_.push_back({syntax.columns.front().place, syntax.condition_place});
        rules_.rules.push_back(std::move(rule));
    }

    static void set(Rule& rule, const Operation& operation) {
        rule.operation_kind = operation.index();
        std::visit(
            [&](const auto& one) {
                static_assert(std::is_trivially_copyable_v<std::remove_cvref_t<decltype(one)>>);
                const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&one);
                rule.operation.assign(bytes, bytes + sizeof one);
            },
            operation);
    }

    void settle_suppress(Rule& rule, const RuleSyntax& syntax) {
        if (json_ != nullptr) fail("suppress is not available for JSON Lines", rule.source, syntax.operation.place);
        if (rules_.suppress) fail("suppress can be used only once", rule.source, syntax.operation.place);
        if (!rule.conditions.empty()) fail("suppress has no condition", rule.source, syntax.condition_place);
        for (const std::size_t column : rule.columns) {
            if (std::ranges::find(rules_.selected, column) != rules_.selected.end()) continue;
            fail("the column " + finder_.name_of(column) + " is left out of the output", rule.source,
                 syntax.columns.front().place);
        }
        rule.changes_empty = true;
        rule.conditions.push_back({rule.columns.front(), ConditionKind::kRare, {}});
        rules_.suppress = rules_.rules.size();
    }

    Operation make(const OperationSyntax& syntax, const std::vector<std::size_t>& columns, const RuleText& source) {
        if (syntax.name == "fail") {
            if (!syntax.arguments.empty()) fail("fail has no arguments", source, syntax.arguments.front().place);
            const std::string verb = columns.size() == 1 ? " is" : " are";
            fail(names_of(columns) + verb + " not decided yet: replace 'fail' by an operation", source, syntax.place);
        }
        try {
            RuleScope scope(keys_, finder_, request_.files, source, rules_.tables);
            return make_operation(syntax, scope);
        } catch (const SyntaxError& error) {
            fail(error.what(), source, error.place());
        }
    }

    void collect_rules() {
        if (rules_.suppress) collect(*rules_.suppress);
        for (std::size_t number = 0; number < rules_.rules.size(); ++number) {
            if (number != rules_.suppress) collect(number);
        }
    }

    void collect(std::size_t number) {
        for (const std::size_t column : rules_.rules[number].columns) {
            std::vector<std::size_t>& chain = rules_.of_column[column];
            if (chain.empty() || !rules_.rules[chain.back()].conditions.empty()) chain.push_back(number);
        }
    }

    // Throws if values would change below a header that may not be one.
    void check_header() const {
        if (is_vouched_for_) return;
        const std::string reason =
            "the first record may be no header, and would stay as it is: this needs -H or --header repeat, or the "
            "name of one of the columns";
        for (std::size_t i = 0; i < rules_.rules.size(); ++i) {
            const Rule& rule = rules_.rules[i];
            if (operation_of<Keep>(rule) == nullptr) fail(reason, rule.source, places_[i].columns);
        }
        if (default_ && default_->action == DefaultAction::kNull) fail(reason, default_->source, 0);
    }

    void check_ends() {
        for (std::size_t column = 0; column < columns_.count; ++column) {
            std::vector<std::size_t>& chain = rules_.of_column[column];
            if (chain.empty() || rules_.rules[chain.back()].conditions.empty()) continue;
            const std::vector<Condition>& last = rules_.rules[chain.back()].conditions;
            if (last.size() == 1 && last.front().kind == ConditionKind::kString) {
                chain.push_back(keep_others(chain.back(), column));
                continue;
            }
            if (chain.back() == rules_.suppress) {
                fail("the column " + finder_.name_of(column) +
                         " needs a second rule, if only with keep: suppress changes nothing but rare records",
                     rules_.rules[chain.back()].source, places_[chain.back()].columns);
            }
            fail("the column " + finder_.name_of(column) +
                     " needs a rule without a condition at the end, if only with keep: where no condition holds, its "
                     "values would slip through",
                 rules_.rules[chain.back()].source, places_[chain.back()].condition);
        }
    }

    // Adds a rule that keeps what `if string` passes over, unless there is one. Returns its number.
    std::size_t keep_others(std::size_t number, std::size_t column) {
        JsonRules& json = *rules_.json;
        json.first_implied = std::min(json.first_implied, rules_.rules.size());
        const RuleText& source = rules_.rules[number].source;
        const auto is_same = [&](const Rule& rule) {
            return rule.source.text == source.text && rule.source.origin == source.origin;
        };
        auto found = std::find_if(rules_.rules.begin() + static_cast<std::ptrdiff_t>(json.first_implied),
                                  rules_.rules.end(), is_same);
        if (found == rules_.rules.end()) found = rules_.rules.insert(found, rule_of("keep", {}, RuleText(source)));
        found->columns.push_back(column);
        return static_cast<std::size_t>(found - rules_.rules.begin());
    }

    // A rule that the user has not written as such.
    Rule rule_of(const char* operation, std::vector<std::size_t> columns, const RuleText& source) {
        OperationSyntax syntax;
        syntax.name = operation;
        Rule rule;
        rule.source = source;
        set(rule, make(syntax, columns, source));
        rule.operation_name = operation;
        rule.columns = std::move(columns);
        return rule;
    }

    // What is in no column is in JSON Lines a string that no rule names.
    void apply_default_to_strings() {
        if (!default_ || default_->action == DefaultAction::kKeep) return;
        if (default_->action == DefaultAction::kDrop) {
            fail("in JSON Lines, strings that no rule names can become null, but not be left out", default_->source, 0);
        }
        rules_.json->fails_at_unnamed = default_->action == DefaultAction::kFail;
        if (rules_.json->fails_at_unnamed) return;
        rules_.json->default_rule = rules_.rules.size();
        rules_.rules.push_back(rule_of("null", {}, default_->source));
    }

    // `unnamed` are the columns that stay as they are.
    void check_similar_names(const std::vector<std::size_t>& unnamed) const {
        if (columns_.names.empty() || rules_.rules.empty()) return;
        SimilarNames named;
        for (std::size_t column = 0; column < columns_.count; ++column) {
            if (is_named(column)) named.add(columns_.names[column], column);
        }
        for (const std::size_t column : unnamed) {
            const std::optional<std::size_t> similar = named.find(columns_.names[column]);
            if (!similar) continue;
            const std::size_t number = rules_.of_column[*similar].front();
            fail(likeness(column, *similar) + ": name it too, if only with keep", rules_.rules[number].source,
                 places_[number].columns);
        }
    }

    // For messages. Two names can look the same, so the number of the unnamed column is shown too.
    std::string likeness(std::size_t unnamed, std::size_t named) const {
        const std::string place = "#" + std::to_string(unnamed + 1);
        const std::string other = finder_.name_of(named);
        if (!shows_names_) return "no rule names the column " + place + ", whose name is similar to " + other;
        if (columns_.names[unnamed] == columns_.names[named]) {
            return "another column " + other + ", " + place + " of the input, has no rule";
        }
        // A name that is similar to one that may be shown reveals nothing new.
        const bool is_shown = is_for_messages(columns_.names[named]);
        return "no rule names the column " + (is_shown ? in_quotes(columns_.names[unnamed]) + ", " : "") + place +
               " of the input, whose name is easily mistaken for " + other;
    }

    void apply_default() {
        if (json_ != nullptr) return apply_default_to_strings();
        std::vector<std::size_t> unnamed;
        std::ranges::copy_if(rules_.selected, std::back_inserter(unnamed),
                             [this](std::size_t column) { return !is_named(column); });
        const DefaultAction action = default_ ? default_->action : DefaultAction::kKeep;
        if (action == DefaultAction::kKeep) {
            check_similar_names(unnamed);
            rules_.unnamed = unnamed;
        }
        if (action == DefaultAction::kKeep || unnamed.empty()) return;
        if (action == DefaultAction::kFail) {
            fail("no rule names " + names_of(unnamed), default_->source, 0);
        }
        if (action == DefaultAction::kDrop) {
            std::erase_if(rules_.selected, [this](std::size_t column) { return !is_named(column); });
            if (rules_.selected.empty()) fail("with this default no column is left", default_->source, 0);
        } else {
            std::ranges::sort(unnamed);
            rules_.rules.push_back(rule_of("null", std::move(unnamed), default_->source));
            collect(rules_.rules.size() - 1);
        }
    }

    bool is_named(std::size_t column) const { return !rules_.of_column[column].empty(); }

    // For messages.
    std::string names_of(const std::vector<std::size_t>& columns) const {
        constexpr std::size_t kMost = 8;
        std::string names = columns.size() == 1 ? "the column " : "the columns ";
        for (std::size_t i = 0; i < std::min(columns.size(), kMost); ++i) {
            if (i > 0) names += ", ";
            names += finder_.name_of(columns[i]);
        }
        if (columns.size() > kMost) names += " and " + std::to_string(columns.size() - kMost) + " more";
        return names;
    }

    // For each rule that the user wrote: byte offsets in its text.
    struct Places {
        std::size_t columns;
        std::size_t condition;  // the word `if`
    };

    const RuleRequest& request_;
    const InputColumns& columns_;
    JsonColumns* const json_;
    KeyUses& keys_;
    const bool is_vouched_for_;  // applies to the header, or to its absence
    const bool shows_names_;
    ColumnFinder finder_;
    std::optional<Default> default_;
    std::vector<Places> places_;
    RuleSet rules_;
};

}  // namespace

RuleSet resolve_rules(const RuleRequest& request, const InputColumns& columns, KeyUses& keys) {
    if (!columns.are_paths) return Resolver(request, columns, keys, nullptr).resolve();
    JsonColumns json(request);
    return Resolver(request, json.columns(), keys, &json).resolve();
}

}  // namespace cleave
