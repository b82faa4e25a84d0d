// How a list becomes columns:
//
//   listed   = []                              the items without `!`, in order; `*` alone if all items have `!`
//   excluded = {}                              the items with `!`
//   for each item: its columns
//       #a-#b     columns a to b
//       "name"    the column with that name; with [n], the n-th one
//       glob      the columns whose names match, in the order of the input
//       word      every possible reading: as a name, as NAME[n], and for each '-' in it, as a range of two columns that
//                 exist. No reading: the column is missing. More than one: ambiguous.
//   replace the `*` in `listed` with all columns that are not in it
//   remove `excluded` from `listed`
//
// Building the search tree of names takes O(n log n) comparisons for n columns. After that, each name takes one lookup,
// and each glob or `*` takes one pass over the columns.
#include "rows/fields/column_list.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstddef>
#include <numeric>
#include <optional>
#include <system_error>

#include "base/shell_word.h"
#include "base/suggest.h"

namespace cleave {
namespace {

constexpr std::size_t kNoColumn = static_cast<std::size_t>(-1);

// A delimiter as a word to type after -d.
std::string word_for(std::uint8_t delimiter) {
    if (delimiter == '\t') return "tab";
    return delimiter > ' ' && delimiter < 0x7F ? shell_word(std::string(1, static_cast<char>(delimiter))) : "BYTE";
}

// Greedy matching with a single backtracking point: on a mismatch, the last `*` takes one more byte. Takes O(|glob|
// |name|) time in the worst case.
bool matches(std::string_view glob, std::string_view name) {
    std::size_t g = 0;
    std::size_t n = 0;
    std::size_t star = kNoColumn;  // the last `*`
    std::size_t star_end = 0;      // the end of the part of the name that it matches
    while (n < name.size()) {
        if (g < glob.size() && glob[g] == '*') {
            star = g++;
            star_end = n;
        } else if (g < glob.size() && glob[g] == name[n]) {
            ++g;
            ++n;
        } else if (star != kNoColumn) {
            g = star + 1;
            n = ++star_end;
        } else {
            return false;
        }
    }
    return glob.find_first_not_of('*', g) == std::string_view::npos;
}

constexpr std::size_t kLongestShownName = 128;  // bytes

// NAME[N] in a word.
struct Numbered {
    std::string_view name;
    std::uint64_t nth = 0;
};

std::optional<Numbered> numbered(std::string_view word) {
    const std::size_t bracket = word.rfind('[');
    if (bracket == std::string_view::npos || bracket == 0 || !word.ends_with(']')) return std::nullopt;
    const std::string_view digits = word.substr(bracket + 1, word.size() - bracket - 2);
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
    Numbered result{word.substr(0, bracket), 0};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result.nth);
    if (error == std::errc::result_out_of_range) result.nth = UINT64_MAX;
    return result;
}

ColumnSyntax parse_number(RuleScanner& scanner, ColumnSyntax column) {
    column.kind = ColumnSyntax::Kind::kNumber;
    column.first = scanner.digits();
    column.last = column.first;
    if (scanner.at_text("-")) {
        scanner.accept("-");
        if (!scanner.at_text("#")) scanner.expected("'#' and a number after '-'");
        scanner.accept("#");
        column.last = scanner.digits();
    }
    return column;
}

// Inserts the columns that `listed` lacks, at position `place`.
void insert_others(std::vector<std::size_t>& listed, std::size_t place, const std::vector<bool>& is_listed) {
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < is_listed.size(); ++i) {
        if (!is_listed[i]) others.push_back(i);
    }
    listed.insert(listed.begin() + static_cast<std::ptrdiff_t>(place), others.begin(), others.end());
}

}  // namespace

ColumnSyntax parse_column(RuleScanner& scanner) {
    ColumnSyntax column;
    column.place = scanner.place();
    if (scanner.accept("#")) return parse_number(scanner, column);
    if (scanner.next_is("\"")) {
        column.kind = ColumnSyntax::Kind::kQuoted;
        column.text = scanner.quoted();
        if (scanner.at_text("[")) {
            scanner.accept("[");
            column.nth = scanner.digits();
            if (column.nth == 0) scanner.fail("columns of one name are counted from 1", column.place);
            if (!scanner.at_text("]")) scanner.expected("']' after the number");
            scanner.accept("]");
        }
        return column;
    }
    column.text = scanner.word();
    if (column.text.empty()) scanner.expected("a column");
    while (column.text.front() == '.' && scanner.at_text("\"")) {
        column.kind = ColumnSyntax::Kind::kPath;
        column.text += in_quotes(scanner.quoted());
        column.text += scanner.part("");
    }
    if (column.kind == ColumnSyntax::Kind::kPath) return column;
    if (column.text == "*") {
        column.kind = ColumnSyntax::Kind::kRest;
    } else if (column.text.find('*') != std::string::npos) {
        column.kind = ColumnSyntax::Kind::kGlob;
    }
    return column;
}

std::vector<ColumnSyntax> parse_columns(RuleScanner& scanner) {
    std::vector<ColumnSyntax> list;
    do {
        const std::size_t place = scanner.place();
        const bool is_excluded = scanner.accept("!");
        list.push_back(parse_column(scanner));
        list.back().is_excluded = is_excluded;
        list.back().place = place;
    } while (scanner.accept(","));
    return list;
}

bool is_name_of_column(const ColumnSyntax& item, const InputColumns& columns) {
    const auto has = [&](std::string_view name) {
        return std::ranges::find(columns.names, name) != columns.names.end();
    };
    if (item.is_excluded) return false;
    if (item.kind == ColumnSyntax::Kind::kQuoted) return has(item.text);
    if (item.kind != ColumnSyntax::Kind::kWord) return false;
    const auto parts = numbered(item.text);
    return has(item.text) || (parts && has(parts->name));
}

bool is_for_messages(std::string_view name) {
    const auto is_control = [](char byte) { return static_cast<unsigned char>(byte) < ' '; };
    return name.size() <= kLongestShownName && std::ranges::none_of(name, is_control);
}

// Looks up the columns of one item.
struct ColumnFinder::Lookup {
    const ColumnFinder& finder;
    const RuleText& source;
    std::size_t place;

    [[noreturn]] void fail(const std::string& reason) const {
        throw RuleError(reason, source.origin, source.text, place);
    }

    // How to write `right` where the user wrote `wrong`; the whole option if a shell would split `right`.
    std::string correction(std::string_view wrong, const std::string& right) const {
        const std::size_t at = source.text.find(wrong, place);
        const bool is_option = source.origin.starts_with("--");
        if (!is_option || shell_word(right) == right || at == std::string::npos) return right;
        std::string text = source.text;
        return source.origin + " " + shell_word(text.replace(at, wrong.size(), right));
    }

    bool has(std::string_view name) const { return finder.by_name_.contains(name); }

    // Whether a word can be read as a single column, even if its number is out of range.
    bool is_column(std::string_view word) const {
        const auto parts = numbered(word);
        return has(word) || (parts && has(parts->name));
    }

    // Reports that there is no column `name`, which the user wrote as `written`.
    [[noreturn]] void fail_missing(std::string_view name, std::string_view written) const {
        const InputColumns& columns = finder.columns_;
        if (columns.count == 0) fail("there is no column " + in_quotes(name) + ": the input is empty");
        if (columns.names.empty()) fail("the input has no header, so its columns are #1, #2 and so on");
        std::string hint;
        const bool is_to_be_left_out = name.size() > 1 && (name[0] == '-' || name[0] == '^' || name[0] == '~');
        const std::string* const meant = meant_by(name);
        if (is_to_be_left_out) {
            hint = "; to leave a column out, write '!COLUMN'";
        } else if (meant != nullptr) {
            hint = "; did you mean " + correction(written, as_typed(*meant)) + "?";
        } else if (is_number_of_column(name)) {
            hint = "; for the column by number, write " + correction(written, "#" + std::string(name));
        } else if (finder.names_ == Names::kHidden) {
            hint = "; cleave check --columns lists those of the first record";
        }
        fail("there is no column " + in_quotes(name) + hint);
    }

    bool is_number_of_column(std::string_view name) const {
        std::size_t number = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
        return error == std::errc() && end == name.data() + name.size() && number >= 1 &&
               number <= finder.columns_.count;
    }

    // The column that the user may have meant by a name that does not exist: the only similar one, or else the nearest.
    // Null if there is none or if messages may not name it.
    const std::string* meant_by(std::string_view name) const {
        const std::vector<std::string>& names = finder.columns_.names;
        const std::vector<const std::string*> similar = similar_names(name, names);
        if (!similar.empty()) return similar.size() == 1 ? similar.front() : nullptr;
        const std::string* const nearest = nearest_name(name, names);
        const bool is_shown = finder.names_ == Names::kShown && nearest != nullptr && is_for_messages(*nearest);
        return is_shown ? nearest : nullptr;
    }

    // `written` is how the user wrote `name`, without its number. `nth` is 0 if no number was given.
    std::size_t named(std::string_view name, std::uint64_t nth, std::string_view written) const {
        const auto found = finder.by_name_.find(name);
        if (found == finder.by_name_.end()) fail_missing(name, written);
        const std::vector<std::size_t>& same = found->second;
        if (nth == 0 && same.size() > 1) {
            const std::string quoted = in_quotes(name);
            fail("there are " + std::to_string(same.size()) + " columns " + quoted +
                 ", numbered from 1; for the first, write " + correction(written, quoted + "[1]"));
        }
        if (nth > same.size()) {
            fail("there " + (same.size() == 1 ? "is 1 column " : "are " + std::to_string(same.size()) + " columns ") +
                 in_quotes(name));
        }
        return same[nth == 0 ? 0 : nth - 1];
    }

    // Reads a word as a single column.
    std::size_t column(std::string_view word) const {
        const auto parts = numbered(word);
        if (!parts || !has(parts->name)) return named(word, 0, word);
        if (has(word)) {
            fail(in_quotes(word) + " is a column, and also a number of the columns " + in_quotes(parts->name) +
                 "; for the column, write " + correction(word, in_quotes(word)));
        }
        if (parts->nth == 0) fail("columns of one name are counted from 1");
        return named(parts->name, parts->nth, word);
    }

    std::vector<std::size_t> word(std::string_view text) const {
        std::size_t dash = kNoColumn;
        for (std::size_t i = 1; i + 1 < text.size(); ++i) {
            if (text[i] != '-' || !is_column(text.substr(0, i)) || !is_column(text.substr(i + 1))) continue;
            if (dash != kNoColumn) fail(in_quotes(text) + " can be read as several ranges");
            dash = i;
        }
        if (dash == kNoColumn) return {column(text)};
        if (is_column(text)) {
            fail(in_quotes(text) + " is a column and also a range; for the column, write " +
                 correction(text, in_quotes(text)));
        }
        return range(column(text.substr(0, dash)), column(text.substr(dash + 1)));
    }

    std::vector<std::size_t> range(std::size_t first, std::size_t last) const {
        if (last < first) fail("the range ends before it begins");
        std::vector<std::size_t> columns(last - first + 1);
        std::iota(columns.begin(), columns.end(), first);
        return columns;
    }

    std::vector<std::size_t> numbers(std::uint64_t first, std::uint64_t last) const {
        const InputColumns& columns = finder.columns_;
        const std::string header =
            columns.is_header_given ? "" : "--header repeat or -H, to say whether there is a header";
        if (!columns.is_delimiter_given) {
            fail("a column by number needs -d " + word_for(columns.delimiter) +
                 (header.empty() ? "" : ", and " + header) +
                 ": under a guessed delimiter, numbers may mean other columns");
        }
        if (!header.empty()) fail("a column by number needs " + header);
        if (first == 0 || last == 0) fail("columns are numbered from 1");
        if (std::max(first, last) > columns.count) {
            fail("there is no column #" + std::to_string(std::max(first, last)) + ": the input has " +
                 std::to_string(columns.count) + (columns.count == 1 ? " column" : " columns"));
        }
        return range(static_cast<std::size_t>(first - 1), static_cast<std::size_t>(last - 1));
    }

    std::vector<std::size_t> glob(std::string_view text) const {
        std::vector<std::size_t> columns;
        const std::vector<std::string>& names = finder.columns_.names;
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (matches(text, names[i])) columns.push_back(i);
        }
        if (columns.empty() && names.empty()) fail_missing(text, text);
        if (columns.empty()) fail("no column matches " + std::string(text));
        return columns;
    }
};

ColumnFinder::ColumnFinder(const InputColumns& columns, Names names) : columns_(columns), names_(names) {
    assert(columns.names.empty() || columns.names.size() == columns.count);
    for (std::size_t i = 0; i < columns.names.size(); ++i) by_name_[columns.names[i]].push_back(i);
}

std::vector<std::size_t> ColumnFinder::columns_of(const ColumnSyntax& item, const RuleText& source) const {
    const Lookup lookup{*this, source, item.place};
    switch (item.kind) {
        case ColumnSyntax::Kind::kWord: return lookup.word(item.text);
        case ColumnSyntax::Kind::kQuoted: return {lookup.named(item.text, item.nth, in_quotes(item.text))};
        case ColumnSyntax::Kind::kNumber: return lookup.numbers(item.first, item.last);
        case ColumnSyntax::Kind::kGlob: return lookup.glob(item.text);
        case ColumnSyntax::Kind::kPath: lookup.fail("a path names a value in JSON Lines, and no column");
        case ColumnSyntax::Kind::kRest: break;
    }
    return {};
}

std::vector<std::size_t> ColumnFinder::list_columns(const std::vector<ColumnSyntax>& list, const RuleText& source,
                                                    bool is_selection) const {
    std::vector<std::size_t> listed;
    std::vector<bool> is_listed(columns_.count);
    std::vector<bool> is_excluded(columns_.count);
    // Where to insert the columns that are not listed.
    std::optional<std::size_t> rest;
    if (std::ranges::all_of(list, &ColumnSyntax::is_excluded)) rest = 0;
    for (const ColumnSyntax& item : list) {
        const Lookup lookup{*this, source, item.place};
        if (item.kind == ColumnSyntax::Kind::kRest) {
            if (item.is_excluded) lookup.fail("!* selects no column");
            if (rest && is_selection) lookup.fail("* is given twice");
            rest = listed.size();
        }
        for (const std::size_t column : columns_of(item, source)) {
            if (item.is_excluded) {
                is_excluded[column] = true;
            } else if (!is_listed[column]) {
                is_listed[column] = true;
                listed.push_back(column);
            } else if (is_selection) {
                lookup.fail("the column " + name_of(column) + " is selected twice");
            }
        }
    }
    if (rest) insert_others(listed, *rest, is_listed);
    std::erase_if(listed, [&](std::size_t column) { return is_excluded[column]; });
    if (listed.empty() && columns_.count > 0) Lookup{*this, source, 0}.fail("the list selects no column");
    return listed;
}

std::vector<std::size_t> ColumnFinder::selection(const std::vector<ColumnSyntax>& list, const RuleText& source) const {
    return list_columns(list, source, true);
}

std::vector<std::size_t> ColumnFinder::set(const std::vector<ColumnSyntax>& list, const RuleText& source) const {
    std::vector<std::size_t> columns = list_columns(list, source, false);
    std::ranges::sort(columns);
    return columns;
}

std::size_t ColumnFinder::one(const ColumnSyntax& column, const RuleText& source) const {
    const Lookup lookup{*this, source, column.place};
    const std::vector<std::size_t> found = columns_of(column, source);
    const bool is_one = column.kind == ColumnSyntax::Kind::kWord || column.kind == ColumnSyntax::Kind::kQuoted ||
                        column.kind == ColumnSyntax::Kind::kNumber;
    if (!is_one || found.size() != 1) lookup.fail("give one column here");
    return found.front();
}

std::string ColumnFinder::name_of(std::size_t column) const {
    const bool has_name = !columns_.names.empty() && names_ == Names::kShown;
    return has_name && is_for_messages(columns_.names[column]) ? in_quotes(columns_.names[column])
                                                               : "#" + std::to_string(column + 1);
}

}  // namespace cleave
