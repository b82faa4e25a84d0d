#include "cli/option_table.h"

#include <algorithm>
#include <array>

#include "cleave/kernel.h"
#include "cli/choices.h"
#include "cli/formatted.h"

namespace cleave::cli {
namespace {

constexpr unsigned kKey = bit(Verb::kKey);
constexpr unsigned kMachine = bit(Verb::kMachine);
constexpr unsigned kJoin = bit(Verb::kJoin);
constexpr unsigned kScan = bit(Verb::kScan);
constexpr unsigned kPlan = bit(Verb::kPlan);
constexpr unsigned kAll = kAllVerbs & ~kKey & ~kMachine & ~kJoin & ~kScan & ~kPlan;  // that read inputs
constexpr unsigned kRead = kAll | kJoin | kScan;                                     // that read bytes by a dialect
constexpr unsigned kSplit = bit(Verb::kSplit);
constexpr unsigned kOffsets = bit(Verb::kOffsets);
constexpr unsigned kCat = bit(Verb::kCat);
constexpr unsigned kCount = bit(Verb::kCount);
constexpr unsigned kCheck = bit(Verb::kCheck);
constexpr unsigned kIndex = bit(Verb::kIndex);
constexpr unsigned kSample = bit(Verb::kSample);
constexpr unsigned kPlans = kSplit | kOffsets;
constexpr unsigned kPieces = kPlans | kCat;
constexpr unsigned kStaged = kSplit | kCat | kSample | kCheck;
constexpr unsigned kReports = kAll & ~kPieces & ~kSample;
constexpr unsigned kIndexed = kPieces | kCount | kSample;  // that can use an index

constexpr std::array<const char*, kVerbCount> kVerbNames = {"split",   "offsets", "cat",    "count", "check", "key",
                                                            "machine", "index",   "sample", "join",  "scan",  "plan"};

// The rows of the groups "How to cut" and "Header".
std::vector<OptionRow> cut_rows() {
    return {
        {"records", 'l', "N", "N records a piece", kPlans | kPlan, "How to cut"},
        {"size", 'C', "SIZE", "at most SIZE bytes a piece (64K, 1.5G, 10MB)", kPlans, "How to cut"},
        {"pieces", 'n', "N", "exactly N pieces of nearly equal size", kPlans | kPlan, "How to cut"},
        {"pieces", 'n', "K/N", "piece K of N pieces of nearly equal size", kCat, "How to cut"},
        {"balance", 0, "WHAT", "the N pieces are equal in: {choices} [bytes]", kPieces | kPlan, "How to cut",
         choice_names(kBalances)},
        {"together", 0, "COLUMN", "cut only where the value of COLUMN changes", kPieces, "How to cut"},
        {"by", 0, "COLUMN[,COLUMN]...", "one piece for each value of these columns", kSplit, "How to cut"},
        {"buckets", 0, "N", "N pieces by the hash of the value", kSplit, "How to cut"},
        {"max-keys", 0, "N", "an error if there are more than N values [10000]", kSplit, "How to cut"},
        {"every", 0, "N", "print where every N-th record starts, instead of pieces", kOffsets, "How to cut"},
        {"plan", 0, "FILE", "take the pieces from FILE, which was made of summaries of ranges", kOffsets | kCat,
         "How to cut", kPath},
        {"header", 0, "WHERE", "goes into: repeat (all pieces), first, drop [repeat]", kPieces | kPlan, "Header",
         choice_names(kHeaderModes)},
        {"header", 0, "WHERE", "says that there is one: {choices}", kReports, "Header", choice_names(kHeaderModes)},
        {"header", 0, "WHERE", "where the header is: repeat (all pieces), first, drop [repeat]", kJoin, "Header",
         choice_names(kHeaderModes)},
        {"header", 0, "WHERE", "is printed: repeat, first (both before the records), drop [repeat]", kSample, "Header",
         choice_names(kHeaderModes)},
        {"no-header", 'H', nullptr, "the first record is like any other", kAll | kJoin | kPlan, "Header"},
    };
}

// The rows of the group "Which records".
std::vector<OptionRow> choice_rows() {
    return {
        {"range", 'r', "A-B", "records A to B, from 1; either end may be left out", kCat, "Which records"},
        {"range", 'r', "A-B", "bytes A to B, from 0, B not included [all]; either end may be left out", kScan,
         "Which bytes"},
        {"input-size", 0, "N", "bytes of the whole input, if its range comes on -", kScan, "Which bytes"},
        {"input-version", 0, "TEXT", "what the version of the input is called [its time]", kScan, "Which bytes"},
        {"input-version", 0, "TEXT", "the version of FILE, for --plan [its time]", kOffsets | kCat, "Which records"},
        {"draw", 'k', "K", "print K records, drawn at random, in file order", kSample, "Which records"},
        {"seed", 0, "S", "draw the same records again", kSample, "Which records"},
        {"verify", 0, nullptr, "read the file and compare it with its index", kIndex, "Which records"},
    };
}

// The rows of the group "Output".
std::vector<OptionRow> output_rows() {
    return {
        {"output", 'o', "TEMPLATE", "names [{stem}.{i}{ext}], or a folder; {i:05} {n}", kSplit, "Output", kPath},
        {"output", 'o', "FILE", "write to FILE instead of standard output", kJoin, "Output", kPath},
        {"hive", 0, nullptr, "names are COLUMN=VALUE/{stem}.{i}{ext}, without the column", kSplit, "Output"},
        {"keep-by", 0, nullptr, "with --hive: the column stays", kSplit, "Output"},
        {"drop-by", 0, nullptr, "leave the column of --by out", kSplit, "Output"},
        {"first-index", 0, "N", "{i} counts from N [1]", kSplit, "Output"},
        {"mkdir", 0, nullptr, "make missing directories", kSplit, "Output"},
        {"force", 'f', nullptr, "replace existing pieces", kSplit, "Output"},
        {"force", 'f', nullptr, "replace FILE of -o", kJoin, "Output"},
        {"resume", 0, nullptr, "keep pieces that are the same, make the others", kSplit, "Output"},
        {"sync", 0, nullptr, "wait until everything is on stable storage", kSplit, "Output"},
        {"manifest", 0, "FILE", "a JSON list of the pieces, written after them", kSplit, "Output", kPath},
        {"manifest", 0, "FILE", "JSON list of the pieces: their names, order and sizes", kJoin, "Output", kPath},
        {"checksum", 0, nullptr, "CRC32C of each piece, in the manifest and the events", kSplit, "Output"},
        {"print", 0, nullptr, "print the names of finished pieces, one a line", kSplit, "Output"},
        {"print0", '0', nullptr, "print names, each ended by NUL", kSplit, "Output"},
        {"print0", '0', nullptr, "end lines with NUL instead of a line feed", kCount, "Output"},
        {"dry-run", 0, nullptr, "print names and sizes of the pieces, write nothing", kSplit, "Output"},
        {"compress", 0, "FORMAT", "compress each piece (zstd:19 is a level): {choices}", kSplit, "Output",
         choice_names(kCompressions)},
        {"filter", 0, "CMD", "pipe each piece to the shell command CMD ($FILE)", kSplit, "Output"},
        {"format", 0, "FORMAT", "tsv, csv, jsonl, json, u64 (binary), http [tsv]", kOffsets, "Output",
         choice_names(kFormats)},
        {"json", 0, nullptr, "print events as JSON, one a line", kSplit, "Output"},
        {"json", 0, nullptr, "print JSON, one object for each input", kCheck, "Output"},
        {"json", 0, nullptr, "print JSON, one object for each input and one with the total", kCount, "Output"},
        {"all", 0, nullptr, "list all ragged records, not only the first ten", kCheck, "Output"},
        {"clone", 0, "WHEN", "share input blocks: {choices} [never]", kSplit, "Output", choice_names(kCloneModes)},
        {"clone", 0, "WHEN", "cut for shared blocks: {choices} [never]", kOffsets | kCat, "Output",
         choice_names(kCloneModes)},
    };
}

// The rows of the group "Records".
std::vector<OptionRow> record_rows() {
    return {
        {"select", 0, "COLUMNS", "columns to keep, in this order: a,c-f,!x,addr*,#3", kStaged, "Records"},
        {"redact", 0, "RULE", "'COLUMNS: OPERATION [if CONDITION]'; may be repeated", kStaged, "Records"},
        {"rules", 0, "FILE", "rules, one a line; may be repeated", kStaged, "Records", kPath},
        {"default", 0, "ACTION", "with no rule: {choices} [keep]", kStaged, "Records", choice_names(kDefaultActions)},
        {"key", 0, "NAME=WHERE", "the secret of tokens: file:PATH, env:VAR or fd:N", kStaged, "Records"},
        {"null", 0, "TOKEN", "write TOKEN for values that become null [nothing]", kStaged, "Records"},
        {"forbid", 0, "KIND", "an error if columns that stay hold: {choices}", kStaged, "Records",
         choice_names(kForbidden)},
        {"report", 0, "FILE", "JSON: what each rule did", kStaged, "Records", kPath},
        {"max-record", 0, "SIZE", "an error if a record is larger [16M]", kStaged, "Records"},
        {"spool", 0, "HOW", "lets -n copy a stream, as it is, to a file: {choices}", kSplit, "Records",
         choice_names(kSpools)},
        {"spool", 0, "HOW", "lets -n, -r copy a stream to a file: {choices}", kCat, "Records", choice_names(kSpools)},
        {"spool", 0, "HOW", "lets a stream be copied to a file: {choices}", kSample, "Records", choice_names(kSpools)},
        {"columns", 0, nullptr, "print number and name of each column", kCheck, "Records"},
        {"rules-template", 0, nullptr, "print a file of rules to start from", kCheck, "Records"},
    };
}

// The rows of the groups "Dialect" and "Malformed input".
std::vector<OptionRow> dialect_rows() {
    return {
        {"dialect", 0, "NAME", "like: {choices}", kRead, "Dialect", joined(dialect_presets())},
        {"delimiter", 'd', "BYTE", "between fields: one byte, \\t, \\xHH, or auto [auto]", kRead, "Dialect"},
        {"quote", 'q', "BYTE", "around fields [\"]", kRead, "Dialect"},
        {"no-quote", 0, nullptr, "there are no quotes", kRead, "Dialect"},
        {"quoting", 0, "RULE", "quotes open at: {choices} [field-start]", kRead, "Dialect", choice_names(kQuotings)},
        {"escape", 'e', "BYTE", "makes the next byte plain data [none]", kRead, "Dialect"},
        {"escape-scope", 0, "WHERE", "acts: everywhere, quoted (in quotes) [everywhere]", kRead, "Dialect",
         choice_names(kEscapeScopes)},
        {"terminator", 0, "KIND", "ends records: lf (and CRLF), cr, any, auto [auto]", kRead, "Dialect",
         choice_names(kTerminators)},
        {"skip-lines", 0, "N", "skip N lines before the header, whatever is in them", kRead, "Dialect"},
        {"comment", 0, "PREFIX", "skip lines before the header that begin with PREFIX", kRead, "Dialect"},
        {"lenient", 0, nullptr, "a quote that is never closed is a warning", (kAll | kPlan) & ~kCheck & ~kIndex,
         "Malformed input"},
        {"lenient", 0, nullptr, "a quote that is never closed and ragged records are sound", kCheck, "Malformed input"},
        {"strict", 0, nullptr, "an error if the two quote rules cut differently", (kAll | kPlan) & ~kCheck,
         "Malformed input"},
        {"strict", 0, nullptr, "not sound if the two quote rules cut differently", kCheck, "Malformed input"},
        {"strict-size", 0, nullptr, "an error if a record, or a run, is too large", kPlans, "Malformed input"},
    };
}

// The rows of the groups "Machine" and "Other".
std::vector<OptionRow> other_rows() {
    return {
        {"threads", 'j', "N", "worker threads [the number of cores]", kAll | kScan, "Machine"},
        {"kernel", 0, "NAME", "{choices} [fastest]", kAll | kScan, "Machine", joined(kernel_names())},
        {"block-size", 0, "SIZE", "bytes that a thread takes at a time [1M]", (kAll | kScan) & ~kIndex, "Machine"},
        {"index", 0, "WHEN", "use FILE.cleave: {choices} [auto]", kIndexed, "Machine", choice_names(kIndexUses)},
        {"memory-manager", 0, "NAME", "system, huge, pool[:SIZE] or /PATH.so [system]", kStaged, "Machine"},
        {"device", 0, "NAME", "rules run on: cpu, auto, gpu[:N], /PATH.so [cpu]", kSplit | kCat, "Machine"},
        {"device", 0, "NAME", "gpu, gpu:N for card N, or /PATH.so[:CONFIG] [gpu]", kMachine, "Machine"},
        {"calibrate", 0, nullptr, "measure the device, and keep what was measured", kMachine, "Machine"},
        {"device-memory", 0, "SIZE", "at most so much memory of the device [all]", kSplit | kCat, "Machine"},
        {"explain", 0, nullptr, "say on standard error what ran where", kSplit | kCat, "Machine"},
        {"snapshot", 0, nullptr, "read a growing file as it is when it is opened", kAll & ~kIndex, "Other"},
        {"progress", 0, "WHEN", "a bar on standard error: {choices} [auto]", kAll | kScan, "Other",
         choice_names(kWhens)},
        {"verbose", 'v', nullptr, "a summary on standard error at the end", kAll | kScan, "Other"},
        {"quiet", 0, nullptr, "no warnings and no bar", kRead | kPlan, "Other"},
        {"help", 'h', nullptr, "this text", kAllVerbs | kGeneral, "Other"},
        {"version", 'V', nullptr, "the version and the kernels", kGeneral, "Other"},
        {"completion", 0, "SHELL", "completions for a shell: {choices}", kGeneral, "Other", choice_names(kShells)},
    };
}

}  // namespace

const std::vector<OptionRow>& option_table() {
    static const std::vector<OptionRow> kRows = [] {
        std::vector<OptionRow> rows;
        for (const auto& part :
             {cut_rows(), choice_rows(), record_rows(), output_rows(), dialect_rows(), other_rows()}) {
            rows.insert(rows.end(), part.begin(), part.end());
        }
        return rows;
    }();
    return kRows;
}

std::string joined(const std::vector<std::string_view>& names) { return formatted("{}", fmt::join(names, " ")); }

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
