// The language of column lists: `id, "full name", #4-#6, addr*, !ssn, *`. A list is first parsed; its items are then
// looked up among an input's columns. rule_parser.cpp has the grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cleave/stage_error.h"
#include "rows/fields/columns.h"
#include "rows/fields/rule_scanner.h"

namespace cleave {

// Parses a list, up to the first token that is not part of it. Throws RuleError.
std::vector<ColumnSyntax> parse_columns(RuleScanner& scanner);

// Parses one column. Throws RuleError.
ColumnSyntax parse_column(RuleScanner& scanner);

// Whether the item names one of the columns, alone or as NAME[N].
bool is_name_of_column(const ColumnSyntax& item, const InputColumns& columns);

// Finds columns of one input. All functions throw RuleError; `source` is the text that the syntax was parsed from.
class ColumnFinder {
public:
    // Whether messages may name columns. If the first record might not be a header, its cells are treated as values.
    // Even then a message may suggest a cell that is similar to the name that the user typed, because that tells the
    // user nothing new.
    enum class Names : std::uint8_t { kShown, kHidden };

    // `columns` must outlive the finder.
    explicit ColumnFinder(const InputColumns& columns, Names names = Names::kShown);

    // The columns listed in --select, in that order. No column may be listed twice.
    std::vector<std::size_t> selection(const std::vector<ColumnSyntax>& list, const RuleText& source) const;
    // The columns that a rule names, in ascending order.
    std::vector<std::size_t> set(const std::vector<ColumnSyntax>& list, const RuleText& source) const;
    // The single column named in a condition or in Policy::together.
    std::size_t one(const ColumnSyntax& column, const RuleText& source) const;

    // For messages: the name in quotes; #N if there is no header or names are hidden.
    std::string name_of(std::size_t column) const;

private:
    struct Lookup;

    // The columns that an item stands for; none for kRest.
    std::vector<std::size_t> columns_of(const ColumnSyntax& item, const RuleText& source) const;
    std::vector<std::size_t> list_columns(const std::vector<ColumnSyntax>& list, const RuleText& source,
                                          bool is_selection) const;

    const InputColumns& columns_;
    const Names names_;
    // Not a hash table, because the author of a header could choose names that all have the same hash.
    std::map<std::string_view, std::vector<std::size_t>> by_name_;
};

// Those of `names` that are easily mistaken for `name`. The feature `redact` defines it; a build without that feature
// has engine/without/redact.cpp, which knows none.
std::vector<const std::string*> similar_names(std::string_view name, const std::vector<std::string>& names);

}  // namespace cleave
