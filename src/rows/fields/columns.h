// The columns of an input, and what names one, as plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

// The columns of an input.
struct InputColumns {
    std::size_t count = 0;
    std::vector<std::string> names;  // the values of the header's fields; empty if the input has no header
    std::uint8_t delimiter = ',';
    bool is_delimiter_given = true;  // false if it was sniffed; then column numbers are refused
    bool is_header_given = true;     // whether -H or --header was given; if not, column numbers are refused
    bool shows_names = true;         // false if a name contains something forbidden; then messages use numbers
    bool are_paths = false;          // JSON Lines: the names are the paths in rules; a key is named by a path too
};

// Whether a message may show the name of a column. A missing quote makes records part of the header, so a name with a
// line end in it, or a very long one, may hold values.
bool is_for_messages(std::string_view name);

// An item of a list of columns, as written.
struct ColumnSyntax {
    enum class Kind : std::uint8_t {
        kWord,    // a name, NAME[N] or a range, depending on the columns of the input
        kQuoted,  // a name
        kNumber,  // #first, or #first-#last
        kGlob,
        kRest,  // *
        kPath,  // a path of JSON Lines with quotes in it; without quotes, it is also a word
    };
    Kind kind = Kind::kWord;
    bool is_excluded = false;  // preceded by `!`
    std::string text;          // the word, glob or path, or the text between the quotes
    std::uint64_t nth = 0;     // for kQuoted, counted from 1; 0 if not given
    std::uint64_t first = 0;   // for kNumber, counted from 1
    std::uint64_t last = 0;
    std::size_t place = 0;
};

}  // namespace cleave
