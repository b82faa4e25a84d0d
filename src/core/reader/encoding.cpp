// The names of encodings. They are kept as one text, a line each: pointers to them would be relocated in every run.
#include "cleave/encoding.h"

#include <algorithm>
#include <string>

#include "base/suggest.h"
#include "base/text_bytes.h"
#include "cleave/error.h"

namespace cleave {
namespace {

// A line is the name and its aliases; their order is that of enum Encoding. In the second text, of what is not
// converted, the name is iconv's.
// NOLINTBEGIN(cppcoreguidelines-macro-usage): rows of a table
#define UNICODE(name, aliases) name " " aliases "\n"
#define CHARSET(name, aliases, ...) name " " aliases "\n"
#define FOREIGN(name, aliases, iconv)
constexpr std::string_view kLines =
#include "core/reader/charsets.inc"
    ;
#undef UNICODE
#undef CHARSET
#undef FOREIGN
#define UNICODE(name, aliases)
#define CHARSET(name, aliases, ...)
#define FOREIGN(name, aliases, iconv) iconv " " aliases "\n"
constexpr std::string_view kForeignLines =
#include "core/reader/charsets.inc"
    ;
#undef UNICODE
#undef CHARSET
#undef FOREIGN
// NOLINTEND(cppcoreguidelines-macro-usage)

using Words = std::vector<std::string_view>;

std::vector<Words> rows_of(std::string_view lines) {
    std::vector<Words> rows;
    for (bool begins = true; !lines.empty();) {
        if (begins) rows.emplace_back();
        const std::size_t end = lines.find_first_of(" \n");
        rows.back().push_back(lines.substr(0, end));
        begins = lines[end] == '\n';
        lines.remove_prefix(end + 1);
    }
    return rows;
}

// Letters and digits in lower case, and "_" for all that is between them.
std::string normal(std::string_view name) {
    std::string text;
    for (const char c : name) {
        const char lower = to_lower(c);
        const bool is_part = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
        if (is_part || !(text.empty() || text.ends_with('_'))) text += is_part ? lower : '_';
    }
    return text.ends_with('_') ? text.substr(0, text.size() - 1) : text;
}

}  // namespace

std::vector<std::string_view> encoding_names() {
    Words names = {encoding_name(Encoding::kAuto)};
    for (const Words& row : rows_of(kLines)) names.push_back(row.front());
    return names;
}

std::string_view encoding_name(Encoding encoding) {
    if (encoding == Encoding::kAuto) return "auto";
    return encoding == Encoding::kBytes ? "bytes" : rows_of(kLines)[static_cast<std::size_t>(encoding) - 1].front();
}

Encoding encoding_named(std::string_view name) {
    const std::string wanted = normal(name);
    const auto is_wanted = [&](const Words& row) { return std::ranges::find(row, wanted) != row.end(); };
    if (wanted == encoding_name(Encoding::kAuto)) return Encoding::kAuto;
    auto rows = rows_of(kLines);
    const auto found = std::ranges::find_if(rows, is_wanted);
    if (found != rows.end()) return static_cast<Encoding>(found - rows.begin() + 1);
    std::string text = "'" + std::string(name) + "' is ";
    const auto foreign = rows_of(kForeignLines);
    if (const auto row = std::ranges::find_if(foreign, is_wanted); row != foreign.end())
        throw ArgumentError(text.append("not converted here; try: iconv -f ").append(row->front()) +
                            " -t UTF-8 FILE | cleave ... -");
    rows.insert(rows.end(), foreign.begin(), foreign.end());
    std::vector<std::string> known;
    for (const Words& row : rows) known.insert(known.end(), row.begin(), row.end());
    std::string help = did_you_mean(wanted, known);
    for (const std::string_view each : help.ends_with('?') ? Words() : encoding_names())
        help.append(help.empty() ? "; there are: " : ", ").append(each);
    throw ArgumentError(text + "no encoding that is known" + help);
}

}  // namespace cleave
