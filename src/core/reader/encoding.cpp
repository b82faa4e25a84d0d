// The names of encodings. They are kept as one text, a line each: pointers to them would be relocated in every run.
#include "cleave/encoding.h"

#include <algorithm>
#include <string>

#include "base/suggest.h"
#include "base/text_bytes.h"
#include "cleave/error.h"

namespace cleave {
namespace {

// A line is the name and its aliases; their order is that of enum Encoding. Behind those are the lines of what is not
// converted: a mark, and iconv's name.
// NOLINTBEGIN(cppcoreguidelines-macro-usage): rows of a table
#define UNICODE(name, aliases) name " " aliases "\n"
#define CHARSET(name, aliases, ...) name " " aliases "\n"
#define FOREIGN(name, aliases, iconv) "! " iconv " " aliases "\n"
constexpr std::string_view kLines =
#include "core/reader/charsets.inc"
    ;
#undef UNICODE
#undef CHARSET
#undef FOREIGN
// NOLINTEND(cppcoreguidelines-macro-usage)
constexpr std::string_view kForeign = "!";

using Words = std::vector<std::string_view>;

std::vector<Words> all_rows() {
    std::vector<Words> rows;
    std::string_view lines = kLines;
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
    for (const Words& row : all_rows()) {
        if (row.front() != kForeign) names.push_back(row.front());
    }
    return names;
}

std::string_view encoding_name(Encoding encoding) {
    if (encoding == Encoding::kAuto) return "auto";
    return encoding == Encoding::kBytes ? "bytes" : all_rows()[static_cast<std::size_t>(encoding) - 1].front();
}

Encoding encoding_named(std::string_view name) {
    const std::string wanted = normal(name);
    if (wanted == encoding_name(Encoding::kAuto)) return Encoding::kAuto;
    const auto rows = all_rows();
    std::vector<std::string> known;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Words& row = rows[i];
        known.insert(known.end(), row.begin(), row.end());
        if (std::ranges::find(row, wanted) == row.end()) continue;
        if (row.front() != kForeign) return static_cast<Encoding>(i + 1);
        throw ArgumentError("'" + std::string(name) + "' is not converted here; try: iconv -f " + std::string(row[1]) +
                            " -t UTF-8 FILE | cleave ... -");
    }
    std::string help = did_you_mean(wanted, known);
    for (const std::string_view each : help.ends_with('?') ? Words() : encoding_names())
        help.append(help.empty() ? "; there are: " : ", ").append(each);
    throw ArgumentError("'" + std::string(name) + "' is no encoding that is known" + help);
}

}  // namespace cleave
