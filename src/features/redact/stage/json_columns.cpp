#include "features/redact/stage/json_columns.h"

#include <algorithm>
#include <optional>
#include <string>
#include <variant>

#include "rows/fields/column_list.h"

namespace cleave {
namespace {

// Whether a value at `path` belongs to one value at `from`: the paths are the same up to the last [] of `path`.
bool is_beside(const JsonPath& path, const JsonPath& from) {
    std::size_t same = 0;
    while (same < path.size() && same < from.size() && path[same] == from[same]) ++same;
    return std::ranges::none_of(path.begin() + static_cast<std::ptrdiff_t>(same), path.end(),
                                [](const JsonStep& step) { return std::holds_alternative<JsonEach>(step); });
}

}  // namespace

JsonColumns::JsonColumns(const RuleRequest& request) {
    columns_.are_paths = true;
    if (request.select) selection(*request.select);
    for (const RuleText& rule : request.rules) {
        if (parse_default(rule)) continue;
        RuleSyntax syntax = parse_rule(rule);
        name(syntax, rule);
    }
    columns_.count = paths_.size();
}

std::vector<std::pair<std::size_t, bool>> JsonColumns::selection(const RuleText& source) {
    RuleScanner scanner(source);
    std::vector<std::pair<std::size_t, bool>> selection;
    for (ColumnSyntax& item : parse_columns(scanner)) {
        const std::size_t path = take(item, source);
        if (std::ranges::find(selection, path, &std::pair<std::size_t, bool>::first) != selection.end()) {
            scanner.fail("the path " + columns_.names[path] + " is named twice", item.place);
        }
        selection.emplace_back(path, item.is_excluded);
    }
    if (!scanner.at_end()) scanner.expected("',' or the end after a path");
    return selection;
}

void JsonColumns::name(RuleSyntax& rule, const RuleText& source) {
    std::vector<std::size_t> from;
    for (ColumnSyntax& column : rule.columns) {
        if (column.is_excluded) RuleScanner(source).fail("only --select has paths with '!'", column.place);
        from.push_back(take(column, source));
    }
    for (ConditionSyntax& condition : rule.conditions) {
        if (condition.kind != ConditionKind::kString) look_up(condition.column, from, source);
    }
    name(rule.operation, from, source);
}

void JsonColumns::name(OperationSyntax& operation, std::span<const std::size_t> from, const RuleText& source) {
    for (ArgumentSyntax& argument : operation.arguments) {
        if (argument.column) look_up(*argument.column, from, source);
        for (OperationSyntax& nested : argument.nested) name(nested, from, source);
    }
}

void JsonColumns::look_up(ColumnSyntax& column, std::span<const std::size_t> from, const RuleText& source) {
    const std::size_t place = column.place;
    const std::size_t path = take(column, source);
    paths_[path].is_looked_up = true;
    for (const std::size_t rule : from) {
        if (is_beside(paths_[path].path, paths_[rule].path)) continue;
        RuleScanner(source).fail("there may be several values at " + columns_.names[path] + " for one at " +
                                     columns_.names[rule] + ": the paths have to be the same up to the last []",
                                 place);
    }
}

// The path of an item, as the number of a column.
std::size_t JsonColumns::take(ColumnSyntax& column, const RuleText& source) {
    RuleScanner scanner(source);
    scanner.go_to(column.place);
    if (column.is_excluded) scanner.accept("!");
    JsonPath path = parse_json_path(scanner, JsonPathSyntax::kManyValues);
    if (path.empty()) scanner.fail("'.' is the whole line; a path has to name something in it", column.place);
    const bool is_optional = scanner.at_text("?") && scanner.accept("?");
    if (!scanner.part("").empty())
        scanner.fail("this is not a path; a name with such bytes needs quotes", column.place);
    const std::string text = json_path_text(path);
    auto found = static_cast<std::size_t>(std::ranges::find(columns_.names, text) - columns_.names.begin());
    if (found == paths_.size()) {
        columns_.names.push_back(text);
        paths_.push_back({std::move(path), source, column.place, is_optional});
    } else if (!is_optional && paths_[found].is_optional) {
        paths_[found].source = source;
        paths_[found].place = column.place;
        paths_[found].is_optional = false;
    }
    column.kind = ColumnSyntax::Kind::kQuoted;
    column.text = text;
    return found;
}

}  // namespace cleave
