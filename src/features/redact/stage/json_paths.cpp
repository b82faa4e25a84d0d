#include "features/redact/stage/json_paths.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <variant>

#include "rows/fields/column_list.h"

namespace cleave {
namespace {

// [0] and [] in the same path multiply places.
constexpr std::size_t kMostPlaces = std::size_t{1} << 16;

std::uint32_t depth_of(const JsonPath& path) {
    std::uint32_t arrays = 0;
    std::uint32_t depth = 0;
    for (const JsonStep& step : path) {
        if (std::holds_alternative<std::string>(step)) continue;
        ++arrays;
        if (std::holds_alternative<JsonEach>(step)) depth = arrays;
    }
    return depth;
}

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

JsonPaths::JsonPaths(RuleSet& rules) : places_(1) {
    const JsonRules& json = rules.json.value();
    for (std::uint32_t i = 0; i < json.paths.size(); ++i) {
        paths_.push_back({depth_of(json.paths[i].path), json.paths[i].is_looked_up});
        walk(kRoot, json.paths[i], 0, [&](JsonPlace& place) { place.paths.push_back(i); });
    }
    for (const auto& [number, is_left_out] : json.selection) {
        has_selection_ = true;
        if (!is_left_out) keeps_others_ = false;
        walk(kRoot, json.paths[number], 0, [&](JsonPlace& place) { place.is_selected = !is_left_out; });
    }
    settle(kRoot, rules);
}

// Calls use(place) for each place to which the path leads from `from` on, and adds places that do not exist yet.
template <class Use>
void JsonPaths::walk(std::uint32_t from, const JsonRules::Path& path, std::size_t step, const Use& use) {
    if (step == path.path.size()) return use(places_[from]);
    const JsonStep& taken = path.path[step];
    if (const auto* const name = std::get_if<std::string>(&taken)) {
        std::uint32_t next = member(from, *name);
        if (next == JsonPlace::kNone) {
            next = add(path);
            auto& members = places_[from].members;
            const auto at =
                std::ranges::lower_bound(members, *name, {}, &decltype(JsonPlace::members)::value_type::first);
            members.emplace(at, *name, next);
        }
        return walk(next, path, step + 1, use);
    }
    if (const auto* const index = std::get_if<std::uint64_t>(&taken)) {
        const auto is_same = [&](const auto& element) { return element.first == *index; };
        if (std::ranges::none_of(places_[from].elements, is_same)) {
            const std::uint32_t each = places_[from].each;
            const std::uint32_t made = each == JsonPlace::kNone ? add(path) : copy(each, path);
            places_[from].elements.emplace_back(*index, made);
        }
        return walk(element(from, *index), path, step + 1, use);
    }
    if (places_[from].each == JsonPlace::kNone) places_[from].each = add(path);
    walk(places_[from].each, path, step + 1, use);
    const auto elements = places_[from].elements;  // the places move as more are added
    for (const auto& [index, below] : elements) walk(below, path, step + 1, use);
}

std::uint32_t JsonPaths::add(const JsonRules::Path& path) {
    if (places_.size() == kMostPlaces) {
        throw RuleError("too many paths", path.source.origin, path.source.text, path.place);
    }
    places_.emplace_back();
    return static_cast<std::uint32_t>(places_.size() - 1);
}

// Copies a place and everything below.
std::uint32_t JsonPaths::copy(std::uint32_t from, const JsonRules::Path& path) {
    const std::uint32_t made = add(path);
    JsonPlace place = places_[from];
    for (auto& [name, next] : place.members) next = copy(next, path);
    for (auto& [index, next] : place.elements) next = copy(next, path);
    if (place.each != JsonPlace::kNone) place.each = copy(place.each, path);
    places_[made] = std::move(place);
    return made;
}

// Sets what a place says of itself and of those below. Returns whether --select names it or something below.
bool JsonPaths::settle(std::uint32_t number, RuleSet& rules) {
    JsonPlace& place = places_[number];
    std::vector<std::size_t> chain;
    for (const std::uint32_t path : place.paths) std::ranges::copy(rules.of_column[path], std::back_inserter(chain));
    if (!chain.empty() && place.paths.size() == 1) place.column = place.paths.front();
    if (!chain.empty() && place.paths.size() > 1) {
        std::ranges::sort(chain);
        chain.erase(std::ranges::unique(chain).begin(), chain.end());
        const auto last = std::ranges::find_if(chain, [&](auto rule) { return rules.rules[rule].conditions.empty(); });
        chain.erase(last + 1, chain.end());
        place.column = static_cast<std::uint32_t>(rules.of_column.size());
        rules.of_column.push_back(std::move(chain));
    }
    place.has_rules_within = place.column != JsonPlace::kNone;
    const auto take = [&](std::uint32_t below) {
        if (settle(below, rules)) place.has_selected_below = true;
        if (places_[below].has_rules_within) place.has_rules_within = true;
    };
    for (const auto& [name, below] : place.members) {
        take(below);
        if (!places_[below].has_rules_within) continue;
        if (!place.similar) place.similar.emplace();
        place.similar->add(name, 0);
    }
    for (const auto& [index, below] : place.elements) take(below);
    if (place.each != JsonPlace::kNone) take(place.each);
    return place.has_selected_below || place.is_selected == true;
}

std::uint32_t JsonPaths::member(std::uint32_t place, std::string_view name) const {
    constexpr std::size_t kFew = 8;
    const auto& members = places_[place].members;
    auto found = members.begin();
    if (members.size() <= kFew) {
        while (found != members.end() && found->first != name) ++found;
    } else {
        found =
            std::ranges::lower_bound(members, name, {}, [](const auto& one) -> std::string_view { return one.first; });
    }
    return found != members.end() && found->first == name ? found->second : JsonPlace::kNone;
}

bool JsonPaths::leaves_out(const JsonPath& path) const {
    bool stays = keeps_others_;
    std::uint32_t place = kRoot;
    for (const JsonStep& step : path) {
        const auto* const name = std::get_if<std::string>(&step);
        const auto* const index = std::get_if<std::uint64_t>(&step);
        place = name != nullptr ? member(place, *name) : element(place, index != nullptr ? *index : UINT64_MAX);
        if (place == JsonPlace::kNone) break;
        stays = places_[place].is_selected.value_or(stays);
    }
    return !stays;
}

std::uint32_t JsonPaths::element(std::uint32_t place, std::uint64_t index) const {
    const JsonPlace& array = places_[place];
    for (const auto& [number, below] : array.elements) {
        if (number == index) return below;
    }
    return array.each;
}

}  // namespace cleave
