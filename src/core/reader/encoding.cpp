// The names of encodings. They are kept as one text, a line each: pointers to them would be relocated in every run.
#include "cleave/encoding.h"

#include <optional>
#include <string>

#include "base/suggest.h"
#include "base/text_bytes.h"
#include "cleave/error.h"

namespace cleave {
namespace {

// A line is the name and its aliases; their order is that of enum Encoding.
constexpr std::string_view kLines =
#define UNICODE(name, aliases) name " " aliases "\n"
#define CHARSET(name, aliases, ...) name " " aliases "\n"
#define FOREIGN(name, aliases, iconv)
#include "core/reader/charsets.inc"
#undef UNICODE
#undef CHARSET
#undef FOREIGN
    ;
// What is not converted; a line begins with iconv's name.
constexpr std::string_view kForeignLines =
#define UNICODE(name, aliases)
#define CHARSET(name, aliases, ...)
#define FOREIGN(name, aliases, iconv) iconv " " aliases "\n"
#include "core/reader/charsets.inc"
#undef UNICODE
#undef CHARSET
#undef FOREIGN
    ;

constexpr std::string_view kAutoName = "auto";

// Calls visit(number of the line, word) for each word, until it returns true.
template <class Visit>
void for_each_word(std::string_view lines, const Visit& visit) {
    for (unsigned line = 0; !lines.empty();) {
        const std::size_t end = lines.find_first_of(" \n");
        if (visit(line, lines.substr(0, end))) return;
        if (lines[end] == '\n') ++line;
        lines.remove_prefix(end + 1);
    }
}

// Letters and digits in lower case, and "_" for all that is between them.
std::string normal(std::string_view name) {
    std::string text;
    bool is_apart = false;
    for (const char c : name) {
        const char lower = to_lower(c);
        const bool is_part = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9');
        if (is_part && is_apart && !text.empty()) text += '_';
        if (is_part) text += lower;
        is_apart = !is_part;
    }
    return text;
}

std::optional<unsigned> line_of(std::string_view lines, std::string_view wanted) {
    std::optional<unsigned> found;
    for_each_word(lines, [&](unsigned line, std::string_view word) {
        if (word == wanted) found = line;
        return found.has_value();
    });
    return found;
}

// The first word.
std::string_view name_of(std::string_view lines, unsigned wanted) {
    std::string_view name;
    for_each_word(lines, [&](unsigned line, std::string_view word) {
        if (line == wanted) name = word;
        return !name.empty();
    });
    return name;
}

}  // namespace

std::string_view encoding_name(Encoding encoding) {
    if (encoding == Encoding::kAuto) return kAutoName;
    return encoding == Encoding::kBytes ? "bytes" : name_of(kLines, static_cast<unsigned>(encoding) - 1);
}

std::vector<std::string_view> encoding_names() {
    std::vector<std::string_view> names = {kAutoName};
    std::optional<unsigned> before;
    for_each_word(kLines, [&](unsigned line, std::string_view word) {
        if (before != line) names.push_back(word);
        before = line;
        return false;
    });
    return names;
}

Encoding encoding_named(std::string_view name) {
    const std::string wanted = normal(name);
    if (wanted == kAutoName) return Encoding::kAuto;
    if (const auto line = line_of(kLines, wanted)) return static_cast<Encoding>(*line + 1);
    const std::string quoted = "'" + std::string(name) + "'";
    if (const auto line = line_of(kForeignLines, wanted)) {
        throw ArgumentError(quoted + " is not converted here; try: iconv -f " +
                            std::string(name_of(kForeignLines, *line)) + " -t UTF-8 FILE | cleave ... -");
    }
    std::vector<std::string> known = {std::string(kAutoName)};
    for (const std::string_view lines : {kLines, kForeignLines}) {
        for_each_word(lines, [&](unsigned, std::string_view word) {
            known.emplace_back(word);
            return false;
        });
    }
    std::string help = did_you_mean(wanted, known);
    if (help.empty()) {
        for (const std::string_view each : encoding_names())
            help.append(help.empty() ? "; there are: " : ", ").append(each);
    }
    throw ArgumentError(quoted + " is no encoding that is known" + help);
}

}  // namespace cleave
