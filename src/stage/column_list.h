// The language of columns: `id, "full name", #4-#6, addr*, !ssn, *`. Parsed first, then looked up in an input's
// columns. The grammar is that of rule_parser.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "stage/rule_scanner.h"
#include "stage/rules.h"

namespace cleave {

// An item of a list, as it was written.
struct ColumnSyntax {
    enum class Kind : std::uint8_t {
        kWord,    // a name, NAME[N] or a range: the columns of the input decide
        kQuoted,  // a name
        kNumber,  // #first, or #first-#last
        kGlob,
        kRest,  // *
    };
    Kind kind = Kind::kWord;
    bool is_excluded = false;  // `!` stands before it
    std::string text;          // of a word, a glob, or between quotes
    std::uint64_t nth = 0;     // of kQuoted, from 1; 0 if not said
    std::uint64_t first = 0;   // of kNumber, from 1
    std::uint64_t last = 0;
    std::size_t place = 0;
};

// A list, up to the first token that is no part of it. Throws RuleError.
std::vector<ColumnSyntax> parse_columns(RuleScanner& scanner);

// One column. Throws RuleError.
ColumnSyntax parse_column(RuleScanner& scanner);

// Whether the item is the name of a column, alone or as NAME[N].
bool is_name_of_column(const ColumnSyntax& item, const InputColumns& columns);

// Finds columns of one input. All functions throw RuleError; `source` is the text that the syntax was made from.
class ColumnFinder {
public:
    // Whether messages may name columns. Where the first record may be no header, its cells are values. Even so a
    // message may propose a cell that is similar to the name that the user typed: it tells the user nothing new.
    enum class Names : std::uint8_t { kShown, kHidden };

    // `columns` must outlive the finder.
    explicit ColumnFinder(const InputColumns& columns, Names names = Names::kShown);

    // The columns of --select, in the order of the list. A column may not be there twice.
    std::vector<std::size_t> selection(const std::vector<ColumnSyntax>& list, const RuleText& source) const;
    // The columns of a rule, ascending.
    std::vector<std::size_t> set(const std::vector<ColumnSyntax>& list, const RuleText& source) const;
    // A column that is to be one: of a condition, or of Policy::together.
    std::size_t one(const ColumnSyntax& column, const RuleText& source) const;

    // For messages: in quotes; #N without a header, and where names are hidden.
    std::string name_of(std::size_t column) const;

private:
    struct Lookup;

    // What an item stands for. Nothing for kRest.
    std::vector<std::size_t> columns_of(const ColumnSyntax& item, const RuleText& source) const;
    std::vector<std::size_t> list_columns(const std::vector<ColumnSyntax>& list, const RuleText& source,
                                          bool is_selection) const;

    const InputColumns& columns_;
    const Names names_;
    // No hash table: whoever writes a header could choose names that all have one hash.
    std::map<std::string_view, std::vector<std::size_t>> by_name_;
};

}  // namespace cleave
