// The paths that rules on JSON Lines name: as columns, for everything that resolves rules, and as a tree that a reader
// of lines walks down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "features/redact/stage/rule_parser.h"
#include "features/redact/stage/rules.h"
#include "features/redact/stage/similar_names.h"

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

// A place in a line. A value has one place at most: where both [] and [0] occur, what is below [] is also below [0].
struct JsonPlace {
    static constexpr std::uint32_t kNone = UINT32_MAX;

    std::vector<std::pair<std::string, std::uint32_t>> members;  // the places below, sorted by name
    std::vector<std::pair<std::uint64_t, std::uint32_t>> elements;
    std::uint32_t each = kNone;           // the place of all other elements
    std::vector<std::uint32_t> paths;     // those that lead here
    std::uint32_t column = kNone;         // whose rules apply; see FlatProgram::columns
    std::optional<bool> is_selected;      // what --select says
    bool has_selected_below = false;      // --select names something below
    bool has_rules_within = false;        // rules name this place or something below
    std::optional<SimilarNames> similar;  // to members with rules within
};

// Immutable, so it can be used from any thread.
class JsonPaths {
public:
    static constexpr std::uint32_t kRoot = 0;

    // Adds a column to the rules for each place where several paths lead. Throws RuleError.
    explicit JsonPaths(RuleSet& rules);

    const JsonPlace& operator[](std::uint32_t place) const { return places_[place]; }
    // The places below; JsonPlace::kNone if no path leads there.
    std::uint32_t member(std::uint32_t place, std::string_view name) const;
    std::uint32_t element(std::uint32_t place, std::uint64_t index) const;

    // Whether --select leaves out the value at this path.
    bool leaves_out(const JsonPath& path) const;

    struct Path {
        std::uint32_t depth;  // of its last []: how many [] and [N] it has up to there
        bool is_looked_up;    // for a condition or an operation
    };
    const std::vector<Path>& paths() const { return paths_; }
    bool has_selection() const { return has_selection_; }
    // Whether what --select does not name stays.
    bool keeps_others() const { return keeps_others_; }

private:
    template <class Use>
    void walk(std::uint32_t from, const JsonRules::Path& path, std::size_t step, const Use& use);
    std::uint32_t add(const JsonRules::Path& path);
    std::uint32_t copy(std::uint32_t from, const JsonRules::Path& path);
    bool settle(std::uint32_t number, RuleSet& rules);

    std::vector<JsonPlace> places_;
    std::vector<Path> paths_;
    bool has_selection_ = false;
    bool keeps_others_ = true;
};

}  // namespace cleave
