#include "cli/option_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cleave/kernel.h"
#include "cli/choices.h"

namespace cleave::cli {
namespace {

constexpr unsigned kAll = kAllVerbs;
constexpr unsigned kSplit = bit(Verb::kSplit);
constexpr unsigned kPlans = bit(Verb::kSplit) | bit(Verb::kOffsets);
constexpr unsigned kPieces = kPlans | bit(Verb::kCat);

constexpr std::array<const char*, kVerbCount> kVerbNames = {"split", "offsets", "cat", "count", "check"};

}  // namespace

const std::vector<OptionRow>& option_table() {
    static const std::vector<OptionRow> kRows = {
        {"records", 'l', "N", "N records a piece", kPlans, "How to cut"},
        {"size", 'C', "SIZE", "at most SIZE bytes a piece (K M G = 1024^n, KB MB GB = 1000^n)", kPlans, "How to cut"},
        {"pieces", 'n', "N", "exactly N pieces of near-equal size; cat: K/N, piece K of N", kPieces, "How to cut"},
        {"every", 0, "N", "print every N-th record's start, one a line, instead of pieces", bit(Verb::kOffsets),
         "How to cut"},
        {"header", 0, "WHERE", "the header goes into: repeat (every piece), first, drop [repeat]", kAll, "Header",
         choice_names(kHeaderModes)},
        {"no-header", 'H', nullptr, "there is no header: the first record is as any other", kAll, "Header"},
        {"output", 'o', "TEMPLATE", "names: {stem} {ext} {i} {i:05} {n} {start} {record} [{stem}.{i}{ext}]", kSplit,
         "Output", kPath},
        {"first-index", 0, "N", "{i} counts from N [1]", kSplit, "Output"},
        {"mkdir", 0, nullptr, "make missing directories", kSplit, "Output"},
        {"force", 'f', nullptr, "replace existing pieces", kSplit, "Output"},
        {"resume", 0, nullptr, "keep pieces that are there and right; go on where a run was cut short", kSplit,
         "Output"},
        {"sync", 0, nullptr, "everything is on stable storage before the end", kSplit, "Output"},
        {"manifest", 0, "FILE", "a JSON list of the pieces, there only if all of them are", kSplit, "Output", kPath},
        {"print", 0, nullptr, "print the names of finished pieces, one a line", kSplit, "Output"},
        {"null", '0', nullptr, "print them, each ended by NUL", kSplit, "Output"},
        {"dry-run", 0, nullptr, "print the names and sizes of the pieces, write nothing", kSplit, "Output"},
        {"compress", 0, "FORMAT", "compress pieces (with a level as in zstd:19): {choices}", kSplit, "Output",
         choice_names(kCompressions)},
        {"filter", 0, "CMD", "give each piece to the shell command CMD, as its standard input; $FILE is the name",
         kSplit, "Output"},
        {"format", 0, "FORMAT", "tsv, csv, jsonl, json, u64 (little-endian boundaries), http [tsv]",
         bit(Verb::kOffsets), "Output", choice_names(kFormats)},
        {"json", 0, nullptr, "print JSON, one object a line: check for each input, split for each event",
         bit(Verb::kCheck) | kSplit, "Output"},
        {"clone", 0, "WHEN", "share blocks with the input, cut so that it works: {choices} [never]", kPieces, "Output",
         choice_names(kCloneModes)},
        {"dialect", 0, "NAME", "as a reader does: {choices}", kAll, "Dialect", joined(dialect_presets())},
        {"delimiter", 'd', "BYTE", "between fields: one byte, \\t, \\xHH, or auto [auto]", kAll, "Dialect"},
        {"quote", 'q', "BYTE", "around fields [\"]", kAll, "Dialect"},
        {"no-quote", 0, nullptr, "nothing quotes", kAll, "Dialect"},
        {"quoting", 0, "RULE", "a quote opens at: field-start (only there), anywhere [field-start]", kAll, "Dialect",
         choice_names(kQuotings)},
        {"escape", 'e', "BYTE", "makes the next byte plain data [none]", kAll, "Dialect"},
        {"escape-scope", 0, "WHERE", "an escape acts: everywhere, quoted (inside quotes only) [everywhere]", kAll,
         "Dialect", choice_names(kEscapeScopes)},
        {"terminator", 0, "KIND", "ends records: lf (and CRLF), cr, any, auto [auto]", kAll, "Dialect",
         choice_names(kTerminators)},
        {"lenient", 0, nullptr, "a quote that is never closed is a warning; to check, ragged records are sound", kAll,
         "Malformed input"},
        {"strict", 0, nullptr, "an error where the two quote rules would cut differently", kAll, "Malformed input"},
        {"strict-size", 0, nullptr, "an error where a record is larger than -C SIZE", kPlans, "Malformed input"},
        {"threads", 'j', "N", "worker threads [the cores there are]", kAll, "Machine"},
        {"kernel", 0, "NAME", "{choices} [the first that runs here]", kAll, "Machine", joined(kernel_names())},
        {"block-size", 0, "SIZE", "bytes a worker takes at a time [1M]", kAll, "Machine"},
        {"progress", 0, "WHEN", "a bar on standard error (auto: if it is a terminal): {choices} [auto]", kAll, "Other",
         choice_names(kWhens)},
        {"verbose", 'v', nullptr, "a summary on standard error at the end", kAll, "Other"},
        {"quiet", 0, nullptr, "no warnings and no bar", kAll, "Other"},
        {"help", 'h', nullptr, "this text", kAll | kGeneral, "Other"},
        {"version", 'V', nullptr, "the version and the kernels", kGeneral, "Other"},
        {"completion", 0, "SHELL", "completions for a shell: {choices}", kGeneral, "Other", choice_names(kShells)},
    };
    return kRows;
}

std::string joined(const std::vector<std::string_view>& names) { return fmt::format("{}", fmt::join(names, " ")); }

const char* verb_name(Verb verb) { return kVerbNames.at(static_cast<std::size_t>(verb)); }

std::string verb_names(unsigned bits) {
    std::vector<std::string_view> names;
    for (unsigned verb = 0; verb < kVerbCount; ++verb) {
        if ((bits >> verb & 1) != 0) names.emplace_back(kVerbNames.at(verb));
    }
    return joined(names);
}

std::optional<Verb> verb_by_name(const std::string& name) {
    const auto* found = std::ranges::find(kVerbNames, name, [](const char* n) { return std::string(n); });
    if (found == kVerbNames.end()) return std::nullopt;
    return static_cast<Verb>(found - kVerbNames.begin());
}

}  // namespace cleave::cli
