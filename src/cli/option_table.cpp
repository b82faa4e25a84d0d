#include "cli/option_table.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "cleave/kernel.h"
#include "cli/choices.h"
#include "cli/features.h"
#include "cli/formatted.h"

namespace cleave::cli {
namespace {

constexpr unsigned kAll = kSplit | kCount | kCheck | kCat | kOffsets | kIndex | kSample;  // read inputs
constexpr unsigned kRead = kAll | kJoin | kScan;                                          // use a dialect
constexpr unsigned kPlans = kSplit | kOffsets;
constexpr unsigned kPieces = kPlans | kCat;
constexpr unsigned kStaged = kSplit | kCat | kSample | kCheck;
constexpr unsigned kReports = kAll & ~kPieces & ~kSample;
constexpr unsigned kIndexed = kPieces | kCount | kSample;  // can use an index

// Characters rather than pointers, which would be relocated in every run.
constexpr char kVerbNames[kVerbCount][8] = {"split", "count",  "check", "cat",  "offsets", "index", "sample",
                                            "join",  "verify", "scan",  "plan", "key",     "info"};

// The rows of the groups "How to cut" and "Header".
std::vector<OptionRow> cut_rows() {
    return {
        {"pieces", 'n', "N", "exactly N pieces of nearly equal size", kPlans | kPlan, "How to cut"},
        {"pieces", 'n', "K/N", "piece K of N pieces of nearly equal size", kCat, "How to cut"},
        {"records", 'l', "N", "N records per piece", kPlans | kPlan, "How to cut"},
        {"max-bytes", 'C', "SIZE", "at most SIZE bytes per piece (64K, 1.5G, 10MB)", kPlans, "How to cut"},
        {"by", 0, "COLUMN[,COLUMN]...", "one piece per value of these columns or paths", kSplit, "How to cut"},
        {"buckets", 0, "N", "with --by: N pieces, by a hash of the value", kSplit, "How to cut"},
        {"parts", 0, "NAME=WEIGHT,...", "pieces with names, such as train=80,test=20", kSplit, "How to cut"},
        {"seed", 0, "S", "with --parts or --buckets: divide differently [0]", kSplit, "How to cut"},
        {"max-values", 0, "N", "with --by: fail if there are more values [10000]", kSplit, "How to cut"},
        {"together", 0, "COLUMN", "cut only where the value of COLUMN changes", kPieces, "How to cut"},
        {"balance", 0, "WHAT", "make the N pieces equal in: {choices} [bytes]", kPieces | kPlan, "How to cut",
         choice_names(kBalances)},
        {"every", 0, "N", "print where every Nth record starts instead", kOffsets, "How to cut"},
        {"plan", 0, "FILE", "use the plan in FILE, made from range summaries", kOffsets | kCat, "How to cut", kPath},
        {"header", 0, "WHERE", "which pieces get it: repeat (all), first, drop [repeat]", kPieces | kPlan, "Header",
         choice_names(kHeaderModes)},
        {"header", 0, "WHERE", "the input has a header (all mean the same): {choices}", kReports, "Header",
         choice_names(kHeaderModes)},
        {"header", 0, "WHERE", "which pieces have it: repeat (all), first, drop [repeat]", kJoin, "Header",
         choice_names(kHeaderModes)},
        {"header", 0, "WHERE", "the header: repeat, first (both print it), drop [repeat]", kSample, "Header",
         choice_names(kHeaderModes)},
        {"no-header", 'H', nullptr, "there is no header; the first record is data", kAll | kJoin | kPlan, "Header"},
    };
}

// The rows of the groups "Which bytes" and "Which records".
std::vector<OptionRow> choice_rows() {
    return {
        {"range", 'r', "A-B", "records A to B, from 1; A or B may be omitted", kCat, "Which records"},
        {"bytes", 0, "A-B", "bytes A up to B, from 0 [all]; A or B may be omitted", kScan, "Which bytes"},
        {"input-size", 0, "N", "size of the whole input, if the range is read from -", kScan, "Which bytes"},
        {"input-version", 0, "TEXT", "name for the version of the input [its mtime]", kScan, "Which bytes"},
        {"input-version", 0, "TEXT", "version of FILE, for --plan [its mtime]", kOffsets | kCat, "Which records"},
        {"draw", 'k', "K", "print K records, drawn at random, in file order", kSample, "Which records"},
        {"seed", 0, "S", "draw the same records again", kSample, "Which records"},
        {"verify", 0, nullptr, "read the file and compare it with its index", kIndex, "Which records"},
    };
}

// The rows of the group "Output".
std::vector<OptionRow> output_rows() {
    return {
        {"output", 'o', "TEMPLATE", "names [{stem}.{i}{ext}] or a folder; {i:05} {n}", kSplit, "Output", kPath},
        {"output", 'o', "FILE", "write to FILE instead of standard output", kJoin, "Output", kPath},
        {"force", 'f', nullptr, "replace existing pieces", kSplit, "Output"},
        {"force", 'f', nullptr, "replace the output file if it exists", kJoin, "Output"},
        {"mkdir", 0, nullptr, "create missing folders", kSplit, "Output"},
        {"first-index", 0, "N", "number pieces from N [1]", kSplit, "Output"},
        {"print-names", 0, nullptr, "print the name of each finished piece", kSplit, "Output"},
        {"print0", '0', nullptr, "print names, each followed by NUL", kSplit, "Output"},
        {"print0", '0', nullptr, "end lines with NUL instead of a line feed", kCount, "Output"},
        {"dry-run", 0, nullptr, "print names and sizes of the pieces; write nothing", kSplit, "Output"},
        {"compress", 0, "FORMAT", "compress each piece (zstd:19 sets a level): {choices}", kSplit, "Output",
         choice_names(kCompressions)},
        {"filter", 0, "CMD", "pipe each piece into the shell command CMD ($FILE)", kSplit, "Output"},
        {"hive", 0, nullptr, "with --by: name pieces COLUMN=VALUE/{stem}.{i}{ext} and drop the column", kSplit,
         "Output"},
        {"keep-by", 0, nullptr, "with --hive: keep the column", kSplit, "Output"},
        {"drop-by", 0, nullptr, "with --by: drop the column", kSplit, "Output"},
        {"manifest", 0, "FILE", "write a JSON list of the pieces, after the pieces", kSplit, "Output", kPath},
        {"manifest", 0, "FILE", "JSON list of the pieces: names, order and sizes", kJoin, "Output", kPath},
        {"checksum", 0, nullptr, "CRC32C of each piece, in the manifest and events", kSplit, "Output"},
        {"resume", 0, nullptr, "keep identical existing pieces, write the others", kSplit, "Output"},
        {"sync", 0, nullptr, "wait until everything is on stable storage", kSplit, "Output"},
        {"reflink", 0, "WHEN", "share blocks with the input: {choices} [never]", kSplit, "Output",
         choice_names(kCloneModes)},
        {"reflink", 0, "WHEN", "cut where blocks can be shared: {choices} [never]", kOffsets | kCat, "Output",
         choice_names(kCloneModes)},
        {"format", 0, "FORMAT", "tsv, csv, jsonl, json, u64 (binary), http [tsv]", kOffsets, "Output",
         choice_names(kFormats)},
        {"json", 0, nullptr, "print events as JSON, one per line", kSplit, "Output"},
        {"json", 0, nullptr, "print a JSON object for each input", kCheck, "Output"},
        {"json", 0, nullptr, "print a JSON object for each input, and for the total", kCount, "Output"},
        {"all", 0, nullptr, "list all faulty records, not just the first ten", kCheck, "Output"},
    };
}

// The rows of the group "Records".
std::vector<OptionRow> record_rows() {
    return {
        {"select", 0, "COLUMNS", "columns to keep, in this order: a,c-f,!x,addr*,#3", kStaged, "Records"},
        {"redact", 0, "RULE", "'COLUMNS: OPERATION [if CONDITION]'; may be repeated", kStaged, "Records"},
        {"rules", 0, "FILE", "read rules from FILE, one per line; may be repeated", kStaged, "Records", kPath},
        {"key", 0, "NAME=WHERE", "a key for tokens: file:PATH, env:VAR or fd:N", kStaged, "Records"},
        {"redact-default", 0, "ACTION", "what to do with columns without a rule: {choices} [keep]", kStaged, "Records",
         choice_names(kDefaultActions)},
        {"redact-null", 0, "TOKEN", "write TOKEN for values that become null [nothing]", kStaged, "Records"},
        {"forbid", 0, "KIND", "fail if what stays has NAME=re2:PATTERN or: {choices}", kStaged, "Records",
         choice_names(kForbidden)},
        {"redact-report", 0, "FILE", "write what each rule did, as JSON", kStaged, "Records", kPath},
        {"sign", 0, "NAME", "sign the report with this key, and list files", kStaged, "Records"},
        {"max-record", 0, "SIZE", "fail if a record is larger [16M]", kStaged, "Records"},
        {"spool", 0, "HOW", "let -n copy piped data, unredacted, to a file: {choices}", kSplit, "Records",
         choice_names(kSpools)},
        {"spool", 0, "HOW", "let -n and -r copy piped data to a file: {choices}", kCat, "Records",
         choice_names(kSpools)},
        {"spool", 0, "HOW", "let piped data be copied to a file: {choices}", kSample, "Records", choice_names(kSpools)},
        {"spool", 0, "HOW", "let suppress copy piped data to a file: {choices}", kCheck, "Records",
         choice_names(kSpools)},
        {"quasi", 0, "COLUMNS", "how many records share their values in COLUMNS", kCheck, "Records"},
        {"sensitive", 0, "COLUMN", "with --quasi: how many values of COLUMN they have", kCheck, "Records"},
        {"key", 0, "NAME=WHERE", "the key of the report: file:PATH, env:VAR or fd:N", kVerify, "Report"},
        {"no-key", 0, nullptr, "compare the files only; anyone could have written the report", kVerify, "Report"},
        {"input", 0, "FILE", "compare the input with the report too", kVerify, "Report", kPath},
        {"columns", 0, nullptr, "print number and name of each column", kCheck, "Records"},
        {"rules-template", 0, nullptr, "print a rules file to start from", kCheck, "Records"},
    };
}

// The rows of the groups "Dialect" and "Malformed input".
std::vector<OptionRow> dialect_rows() {
    return {
        {"dialect", 0, "NAME", "like: {choices}", kRead, "Dialect", joined(dialect_presets())},
        {"delimiter", 'd', "BYTE", "field separator: a byte, \\t, \\xHH, or auto [auto]", kRead, "Dialect"},
        {"quote", 0, "BYTE", "byte around quoted fields [\"]", kRead, "Dialect"},
        {"no-quote", 0, nullptr, "there are no quotes", kRead, "Dialect"},
        {"quoting", 0, "MODE", "quotes open at: {choices} [field-start]", kRead, "Dialect", choice_names(kQuotings)},
        {"escape", 'e', "BYTE", "byte that makes the next one plain data [none]", kRead, "Dialect"},
        {"escape-scope", 0, "WHERE", "where the escape acts: everywhere, quoted [everywhere]", kRead, "Dialect",
         choice_names(kEscapeScopes)},
        {"terminator", 0, "KIND", "what ends records: lf (and CRLF), cr, any, auto [auto]", kRead, "Dialect",
         choice_names(kTerminators)},
        {"skip-lines", 0, "N", "skip N lines before the header; they stay with it", kRead, "Dialect"},
        {"comment", 0, "PREFIX", "skip lines before the header that begin with PREFIX", kRead, "Dialect"},
        {"encoding", 0, "NAME", "convert the input to UTF-8 from: {choices}", kAll & ~kIndex, "Dialect",
         choice_names(kEncodings)},
        {"allow-open-quote", 0, nullptr, "accept an unclosed quote, with a warning", (kAll | kPlan) & ~kIndex,
         "Malformed input"},
        {"allow-ragged", 0, nullptr, "accept ragged records", kCheck, "Malformed input"},
        {"allow-ragged", 0, nullptr, "with --by or --together: a missing field is empty", kSplit, "Malformed input"},
        {"allow-ragged", 0, nullptr, "with --together: a missing field is empty", kOffsets | kCat, "Malformed input"},
        {"require-one-reading", 0, nullptr, "fail if the two quote modes would cut differently", kAll | kPlan,
         "Malformed input"},
        {"strict-size", 0, nullptr, "fail if a record, or a run of one value, is too large", kPlans, "Malformed input"},
    };
}

// The rows of the groups "Machine" and "Other".
std::vector<OptionRow> other_rows() {
    return {
        {"threads", 'j', "N", "worker threads [the number of cores]", kAll | kScan | kVerify, "Machine"},
        {"index", 0, "WHEN", "use FILE.cleave: {choices} [auto]", kIndexed, "Machine", choice_names(kIndexUses)},
        {"kernel", 0, "NAME", "{choices} [fastest]", kAll | kScan, "Machine", joined(kernel_names())},
        {"block-size", 0, "SIZE", "bytes that a thread takes at a time [1M]", (kAll | kScan) & ~kIndex, "Machine"},
        {"memory-manager", 0, "NAME", "system, huge, pool[:SIZE] or /PATH.so [system]", kStaged, "Machine"},
        {"device", 0, "NAME", "rules run on: cpu, auto, gpu[:N], /PATH.so [cpu]", kSplit | kCat, "Machine"},
        {"device", 0, "NAME", "gpu, gpu:N for card N, or /PATH.so[:CONFIG] [gpu]", kInfo, "Machine"},
        {"calibrate", 0, nullptr, "measure the device and save the result", kInfo, "Machine"},
        {"device-memory", 0, "SIZE", "use at most SIZE bytes of device memory [all]", kSplit | kCat, "Machine"},
        {"explain", 0, nullptr, "print on standard error what ran where", kSplit | kCat, "Machine"},
        {"snapshot", 0, nullptr, "read a growing file as it is when opened", kAll & ~kIndex, "Other"},
        {"progress", 0, "WHEN", "a bar on standard error: {choices} [auto]", kAll | kScan, "Other",
         choice_names(kWhens)},
        {"verbose", 'v', nullptr, "print a summary on standard error", kAll | kScan, "Other"},
        {"quiet", 'q', nullptr, "no warnings and no progress bar", kRead | kPlan, "Other"},
        {"help", 'h', nullptr, "-h: common options; --help: all options", kAllVerbs, "Other"},
        {"help", 'h', nullptr, "this text", kGeneral, "Other"},
        {"version", 'V', nullptr, "the version and the kernels", kGeneral, "Other"},
        {"completion", 0, "SHELL", "completions for a shell: {choices}", kGeneral, "Other", choice_names(kShells)},
    };
}

// What a feature adds to the command.
struct Addition {
    std::string_view feature;
    unsigned verbs;            // that need the feature
    std::string_view options;  // that need it, with a blank around each
};
constexpr Addition kAdditions[] = {
    {"check", kCheck, ""},
    {"compressed", 0, " compress encoding "},
    {"gpu", kInfo, " device device-memory explain "},
    {"index", kIndex, " index "},
    {"ranges", kScan | kPlan, " plan input-version "},
    {"redact", kVerify | bit(Verb::kKey),
     " select redact rules key redact-default redact-null forbid redact-report sign max-record spool quasi sensitive "
     "columns rules-template memory-manager hive keep-by drop-by default null report "},
};
constexpr bool kHasAllAdditions =
    std::ranges::all_of(kAdditions, [](const Addition& one) { return has_feature(one.feature); });

bool names(const Addition& addition, std::string_view option) {
    return addition.options.find(formatted(" {} ", option)) != std::string_view::npos;
}

// Whether a row is for a feature that was left out.
bool is_row_left_out(const OptionRow& row) {
    return std::ranges::any_of(kAdditions, [&](const Addition& one) {
        return !has_feature(one.feature) && (names(one, row.name) || (row.verbs & ~one.verbs) == 0);
    });
}

}  // namespace

void refuse_without(std::string_view feature, std::string_view what) {
    throw UsageError(
        formatted("{}{}this cleave was built without the feature '{}'", what, what.empty() ? "" : ": ", feature));
}

bool is_left_out(Verb verb) {
    if constexpr (kHasAllAdditions) return false;
    return std::ranges::any_of(
        kAdditions, [&](const Addition& one) { return !has_feature(one.feature) && (one.verbs & bit(verb)) != 0; });
}

void refuse_left_out(Verb verb) {
    for (const Addition& one : kAdditions) {
        if (!has_feature(one.feature) && (one.verbs & bit(verb)) != 0) refuse_without(one.feature, verb_name(verb));
    }
}

void refuse_left_out(const std::vector<std::string>& words) {
    if constexpr (kHasAllAdditions) return;
    for (const std::string& word : words) {
        if (word == "--") return;
        const std::string option = word.substr(0, word.find('='));
        if (!option.starts_with("--")) continue;
        for (const Addition& one : kAdditions) {
            if (!has_feature(one.feature) && names(one, option.substr(2))) refuse_without(one.feature, option);
        }
    }
}

const std::vector<OptionRow>& option_table() {
    static const std::vector<OptionRow> kRows = [] {
        std::vector<OptionRow> rows = cut_rows();
        for (const auto more : {choice_rows, output_rows, record_rows, dialect_rows, other_rows}) {
            std::ranges::move(more(), std::back_inserter(rows));
        }
        if constexpr (!kHasAllAdditions) std::erase_if(rows, [](const OptionRow& row) { return is_row_left_out(row); });
        return rows;
    }();
    return kRows;
}

std::span<const OldOption> old_options() {
    static constexpr std::array<OldOption, 10> kOld = {{
        {"size", 0, kPlans, {"max-bytes"}},
        {"clone", 0, kPieces, {"reflink"}},
        {"lenient", 0, kAll | kPlan, {"allow-open-quote", "allow-ragged"}},
        {"strict", 0, kAll | kPlan, {"require-one-reading"}},
        {"print", 0, kSplit, {"print-names"}},
        {"max-keys", 0, kSplit, {"max-values"}},
        {"default", 0, kStaged, {"redact-default"}},
        {"null", 0, kStaged, {"redact-null"}},
        {"report", 0, kStaged, {"redact-report"}},
        {"range", 'r', kScan, {"bytes"}},
    }};
    return kOld;
}

bool has_option(Verb verb, std::string_view option) {
    const auto is_it = [&](const auto& row) { return (row.verbs & bit(verb)) != 0 && has_spelling(row, option); };
    return std::ranges::any_of(option_table(), is_it) || std::ranges::any_of(old_options(), is_it);
}

std::string joined(const std::vector<std::string_view>& names) { return formatted("{}", fmt::join(names, " ")); }

const char* verb_name(Verb verb) { return kVerbNames[static_cast<std::size_t>(verb)]; }

std::string verb_names(unsigned bits) {
    std::vector<std::string_view> names;
    for (unsigned verb = 0; verb < kVerbCount; ++verb) {
        if ((bits >> verb & 1) != 0 && !is_left_out(static_cast<Verb>(verb))) names.emplace_back(kVerbNames[verb]);
    }
    return joined(names);
}

std::optional<Verb> verb_by_name(const std::string& name) {
    constexpr std::string_view kOldInfo = "machine";
    if (name == kOldInfo) return Verb::kInfo;
    const auto* found = std::ranges::find(kVerbNames, name, [](const char* known) { return std::string(known); });
    if (found == std::end(kVerbNames)) return std::nullopt;
    return static_cast<Verb>(found - std::begin(kVerbNames));
}

}  // namespace cleave::cli
