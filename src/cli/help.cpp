#include "cli/help.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "cleave/kernel.h"
#include "cleave/version.h"
#include "cli/formatted.h"
#include "cli/values.h"

namespace cleave::cli {
namespace {

constexpr std::size_t kColumns = 80;
constexpr Verb kFirstOfOthers = Verb::kScan;  // from here on, verbs are for other programs and machines

struct VerbRow {
    char usage[41];
    char summary[52];
    char examples[4][76];  // unused ones are empty
};

// Indexed by Verb. Holds characters rather than pointers, because pointers would be relocated in every run.
constexpr std::array<VerbRow, kVerbCount> kVerbRows = {{
    {"split HOW [options] [FILE...|-]",
     "cut a file into pieces",
     {"split -n 8 orders.csv                  8 pieces, each with the header",
      "split -C 1G --mkdir -o parts/ orders.csv",
      "split --by item orders.csv             a piece per value of a column",
      "split -l 1000 --compress zstd - <orders.csv"}},
    {"count [options] [FILE...|-]",
     "count records, excluding the header",
     {"count orders.csv", "count *.csv                            one line per file, and the total",
      "count -H - <orders.csv                 there is no header"}},
    {"check [options] [FILE...|-]",
     "describe a file and report its faults",
     {"check orders.csv                       exit status 3 if it is not sound",
      "check --columns orders.csv             number and name of each column",
      "check --rules-template orders.csv      a rules file to start from", "check --json orders.csv"}},
    {"cat [-n K/N|-r A-B] [options] FILE...|-",
     "print all records, some of them, or one piece",
     {"cat -r 1-10 orders.csv                 the header and ten records",
      "cat -n 2/8 orders.csv                  the second of eight pieces",
      "cat --select order,mail orders.csv     two columns", "cat --redact 'mail: mask' orders.csv"}},
    {"offsets HOW [options] FILE|-",
     "print piece, start, length, first record, records",
     {"offsets -n 8 orders.csv                one line per piece", "offsets -n 8 --format json orders.csv",
      "offsets --every 1000 orders.csv        where every 1000th record starts"}},
    {"index [options] FILE...",
     "write FILE.cleave, so that later runs need no scan",
     {"index orders.csv                       makes orders.csv.cleave",
      "index --verify orders.csv              does the index still match?"}},
    {"sample -k K [options] FILE...|-",
     "print records drawn at random",
     {"sample -k 100 orders.csv", "sample -k 100 --seed 7 orders.csv      the same ones each time",
      "sample -k 100 - <orders.csv"}},
    {"join [options] PIECE...",
     "put pieces back together",
     {"join -o whole.csv orders.1.csv orders.2.csv", "join orders.*.csv                      to standard output",
      "join --manifest orders.json -o whole.csv"}},
    {"verify [options] REPORT|-",
     "compare files with a signed report on rules",
     {"verify --key audit=file:audit.key report.json",
      "verify --key audit=file:audit.key --input orders.csv report.json",
      "verify --no-key report.json            compares the files only"}},
    {"scan [options] FILE|-",
     "summarise a range of bytes, for plan",
     {"scan -d , --terminator lf --bytes 0-500000 orders.csv >1.json",
      "scan -d , --terminator lf --bytes 500000- orders.csv >2.json"}},
    {"plan HOW [options] [FILE|-]...",
     "turn range summaries into a plan",
     {"plan -n 8 1.json 2.json >plan.json", "plan -l 1000 1.json 2.json >plan.json"}},
    {"key new|rotate|list|check FILE",
     "make a key for tokens, or look at one",
     {"key new shop.key                       fails if the file exists"}},
    {"info [options]",
     "describe this machine and its GPU",
     {"info", "info --calibrate                       measure the GPU"}},
}};

const VerbRow& row_of(Verb verb) { return kVerbRows.at(static_cast<std::size_t>(verb)); }

std::string option_spelling(const OptionRow& row) {
    std::string text = row.letter == 0 ? "    " : formatted("-{}, ", row.letter);
    text += formatted("--{}", row.name);
    if (!row.is_switch()) text += formatted(" {}", row.value);
    return text;
}

// `beginning` followed by the text. Later lines of the text are indented by the length of `beginning`.
std::string wrapped(std::string beginning, std::string_view text) {
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

std::string usage(const VerbRow& row) { return formatted("cleave {}\n  {}\n", row.usage, row.summary); }

}  // namespace

const char* verb_words(Verb verb) { return verb == Verb::kKey ? "new rotate list check" : ""; }

const char* verb_summary(Verb verb) { return row_of(verb).summary; }

std::string option_help(const OptionRow& row) {
    static constexpr std::string_view kPlaceholder = "{choices}";
    std::string text = row.help;
    if (const std::size_t at = text.find(kPlaceholder); at != std::string::npos)
        text.replace(at, kPlaceholder.size(), with_commas(row.more.choices()));
    return text;
}

std::string general_help() {
    std::string text = "Cuts CSV files into pieces between records, fast and without changing a byte.\n\n";
    bool has_others = false;
    for (unsigned i = 0; i < kVerbCount; ++i) {
        const auto verb = static_cast<Verb>(i);
        if (is_left_out(verb)) continue;
        if (verb >= kFirstOfOthers && !std::exchange(has_others, true)) text += "For other programs and machines:\n";
        text += formatted("  cleave {:<8} {}\n", verb_name(verb), verb_summary(verb));
    }
    text +=
        "\ncleave VERB -h shows the common options, --help all of them, and\n"
        "cleave help VERB the manual page.\n\n";
    for (const OptionRow& option : option_table()) {
        if ((option.verbs & kGeneral) != 0) text += option_lines(option);
    }
    return text;
}

std::string short_help(Verb verb) {
    const VerbRow& row = row_of(verb);
    std::string text = usage(row);
    for (const OptionRow& option : option_table()) {
        if ((option.verbs & option.more.common & bit(verb)) != 0) text += option_lines(option);
    }
    text += "Examples:\n";
    for (const char* example : row.examples) {
        if (*example != '\0') text += formatted("  cleave {}\n", example);
    }
    return text + formatted("cleave {0} --help lists all options; cleave help {0} shows its page.\n", verb_name(verb));
}

std::string long_help(Verb verb) {
    std::string text = usage(row_of(verb));
    const char* group = "";
    for (const OptionRow& option : option_table()) {
        if ((option.verbs & bit(verb)) == 0) continue;
        if (std::strcmp(group, option.group) != 0) text += formatted("{}:\n", group = option.group);
        text += option_lines(option);
    }
    return text +
           "Exit status:\n"
           "  0 success, 1 a file or the system fails, 2 usage, 3 the input is malformed,\n"
           "  4 the input changed meanwhile; after a signal, 128 and its number\n";
}

std::string version_text() {
    std::string names;
    for (const Kernel* kernel : available_kernels()) names += formatted(" {}", kernel_name(*kernel));
    return formatted("cleave {}\nkernel {}, available:{}\n", CLEAVE_VERSION, kernel_name(default_kernel()), names);
}

}  // namespace cleave::cli
