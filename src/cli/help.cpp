#include "cli/help.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "cleave/kernel.h"
#include "cleave/version.h"
#include "cli/formatted.h"
#include "cli/values.h"

namespace cleave::cli {
namespace {

struct VerbRow {
    const char* usage;
    const char* summary;
};

// By Verb.
constexpr VerbRow kVerbs[kVerbCount] = {
    {"split HOW [options] [FILE|-]", "cut into piece files"},
    {"offsets HOW [options] FILE|-", "print where the pieces are"},
    {"cat [-n K/N|-r A-B] [options] FILE|-", "all records, some, or one piece to standard output"},
    {"count [options] [FILE...|-]", "records, the header not counted"},
    {"check [options] [FILE...|-]", "describe a file, and what in it is odd"},
    {"key new FILE", "make a key for tokens, in a new file"},
    {"machine [options]", "describe this machine and its GPU"},
    {"index [options] FILE...", "write FILE.cleave, so that FILE is not scanned again"},
    {"sample -k K [options] FILE|-", "some records, drawn at random"},
    {"join [options] PIECE...", "the way back: one file from pieces"},
    {"scan [-r A-B] [options] FILE|-", "summarise a range of bytes, for plan"},
    {"plan HOW [options] [FILE|-]...", "from the summaries of all ranges to the pieces"},
};

std::string option_spelling(const OptionRow& row) {
    std::string text = row.letter == 0 ? "    " : formatted("-{}, ", row.letter);
    text += formatted("--{}", row.name);
    if (row.value != nullptr) text += formatted(" {}", row.value);
    return text;
}

// `beginning`, then the text. Further lines of the text are indented by the length of `beginning`.
std::string wrapped(std::string beginning, std::string_view text) {
    constexpr std::size_t kColumns = 80;
    const std::size_t indent = beginning.size();
    std::string lines;
    std::string line = std::move(beginning);
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        const bool is_first = line.size() == indent;
        if (!is_first && line.size() + 1 + end > kColumns) {
            lines += line + "\n";
            line = std::string(indent, ' ');
        } else if (!is_first) {
            line += ' ';
        }
        line += text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines + line + "\n";
}

std::string option_lines(const OptionRow& row) {
    return wrapped(formatted("  {:<25} ", option_spelling(row)), option_help(row));
}

}  // namespace

const char* verb_words(Verb verb) { return verb == Verb::kKey ? "new" : ""; }

const char* verb_summary(Verb verb) { return kVerbs[static_cast<std::size_t>(verb)].summary; }

std::string option_help(const OptionRow& row) {
    static constexpr std::string_view kPlaceholder = "{choices}";
    std::string text = row.help;
    if (const std::size_t at = text.find(kPlaceholder); at != std::string::npos)
        text.replace(at, kPlaceholder.size(), with_commas(row.choices));
    return text;
}

std::string general_help() {
    std::string text = "Cuts CSV files at record boundaries, exactly and fast.\n\n";
    for (const VerbRow& verb : kVerbs) text += wrapped(formatted("  cleave {:<30} ", verb.usage), verb.summary);
    text +=
        "\nHOW is -l RECORDS, -C SIZE, both, or -n PIECES.\n"
        "cleave VERB --help lists the options of a verb. man cleave has everything.\n"
        "Instead of a verb:\n";
    for (const OptionRow& option : option_table()) {
        if ((option.verbs & kGeneral) != 0) text += option_lines(option);
    }
    return text;
}

std::string verb_help(Verb verb) {
    const VerbRow& row = kVerbs[static_cast<std::size_t>(verb)];
    std::string text = formatted("cleave {}\n  {}\n", row.usage, row.summary);
    const char* group = "";
    for (const OptionRow& option : option_table()) {
        if ((option.verbs & bit(verb)) == 0) continue;
        if (std::strcmp(group, option.group) != 0) text += formatted("{}:\n", group = option.group);
        text += option_lines(option);
    }
    return text;
}

std::string version_text() {
    std::string names;
    for (const Kernel* kernel : available_kernels()) names += formatted(" {}", kernel_name(*kernel));
    return formatted("cleave {}\nkernel {}, available:{}\n", CLEAVE_VERSION, kernel_name(default_kernel()), names);
}

}  // namespace cleave::cli
