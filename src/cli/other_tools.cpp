#include "cli/other_tools.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include "base/text_bytes.h"
#include "cli/formatted.h"
#include "cli/option_table.h"

namespace cleave::cli {
namespace {

// The tables hold characters rather than pointers, because pointers would be relocated in every run, for a message that
// few users see.
struct VerbHint {
    char word[12];
    char command[28];
    char what[44];  // what the command does
};

constexpr std::array<VerbHint, 14> kVerbs = {{
    {"concat", "cat FILE...", "reads several files as one"},
    {"head", "cat -r 1-10 FILE", "prints the first ten records"},
    {"headers", "check --columns FILE", "prints the names of the columns"},
    {"merge", "cat FILE...", "reads several files as one"},
    {"partition", "split --by COLUMN FILE", "makes a piece for each value"},
    {"repair", "check FILE", "reports the faults of a file"},
    {"select", "cat --select COLUMNS FILE", "prints some columns"},
    {"shard", "split -n PIECES FILE", "makes pieces of nearly equal size"},
    {"slice", "cat -r A-B FILE", "prints records A to B"},
    {"sniff", "check FILE", "says which dialect a file has"},
    {"tail", "cat --last 10 FILE", "prints the last ten records"},
    {"validate", "check FILE", "reports the faults of a file"},
    {"view", "cat FILE", "prints records"},
    {"wc", "count FILE", "counts records"},
}};

constexpr unsigned kPrints = kCat | kSample | kOffsets | kCount | kCheck;
constexpr unsigned kCut = kSplit | kOffsets;
constexpr unsigned kAny = kAllVerbs;

struct OptionHint {
    char option[24];
    unsigned verbs;
    char ours[60];
};

// Spellings from GNU split, qsv, xan, xsv, Miller, pandas and DuckDB. This is a table rather than an edit distance,
// because --lines is close to --files but means -l.
constexpr std::array<OptionHint, 63> kOptions = {{
    {"-b", kCut, "-C SIZE"},
    {"--bytes", kCut, "-C SIZE"},
    {"--line-bytes", kCut, "-C SIZE"},
    {"--kb-size", kCut, "-C SIZE"},
    {"-k", kCut, "-C SIZE"},
    {"-s", kCut, "-l RECORDS"},
    {"-S", kCut, "-l RECORDS"},
    {"--lines", kCut, "-l RECORDS"},
    {"--rows", kCut, "-l RECORDS"},
    {"--number", kCut, "-n PIECES"},
    {"--chunks", kCut, "-n PIECES"},
    {"-c", kCut, "-n PIECES"},
    {"--parts", bit(Verb::kOffsets), "-n PIECES"},
    {"--train", kSplit, "--parts train=0.8,test=0.2"},
    {"--test", kSplit, "--parts train=0.8,test=0.2"},
    {"--ratio", kSplit, "--parts train=0.8,test=0.2"},
    {"--fraction", kSplit, "--parts train=0.8,test=0.2"},
    {"--percent", kSplit, "--parts train=0.8,test=0.2"},
    {"--shares", kSplit, "--parts train=0.8,test=0.2"},
    {"--partition-by", kSplit, "--by COLUMN"},
    {"--partition_by", kSplit, "--by COLUMN"},
    {"--group-by", kSplit, "--by COLUMN"},
    {"-a", kSplit, "-o '{stem}.{i:03}{ext}'"},
    {"--suffix-length", kSplit, "-o '{stem}.{i:03}{ext}'"},
    {"--pad", kSplit, "-o '{stem}.{i:03}{ext}'"},
    {"--numeric-suffixes", kSplit, "-o '{stem}.{i:03}{ext}'"},
    {"--additional-suffix", kSplit, "-o '{stem}.{i}SUFFIX'"},
    {"--filename", kSplit, "-o TEMPLATE"},
    {"--prefix", kSplit, "-o 'PREFIX{i}{ext}'"},
    {"--outdir", kSplit, "-o FOLDER/"},
    {"--out-dir", kSplit, "-o FOLDER/"},
    {"--output-dir", kSplit, "-o FOLDER/"},
    {"-O", kSplit, "-o FOLDER/"},
    {"-t", kAny, "-d BYTE for the delimiter, --terminator KIND for line ends"},
    {"--gzip", kSplit, "--compress gzip"},
    {"-z", kSplit, "--compress gzip"},
    {"--zstd", kSplit, "--compress zstd"},
    {"--column", kSplit, "--by COLUMN"},
    {"--skip-header", kAny, "--header drop"},
    {"--drop", kAny, "--select '!COLUMN'"},
    {"--exclude", kAny, "--select '!COLUMN'"},
    {"--max-size", kCut, "-C SIZE"},
    {"--separator", kAny, "-d BYTE"},
    {"--sep", kAny, "-d BYTE"},
    {"--delim", kAny, "-d BYTE"},
    {"--fs", kAny, "-d BYTE"},
    {"--ifs", kAny, "-d BYTE"},
    {"--no-headers", kAny, "-H"},
    {"--headerless-csv-input", kAny, "-H"},
    {"--implicit-csv-header", kAny, "-H"},
    {"--jobs", kAny, "-j N"},
    {"--silent", kAny, "-q"},
    {"--overwrite", kSplit, "-f"},
    {"-n", bit(Verb::kCount) | bit(Verb::kCheck), "-H if there is no header"},
    {"-n", kSample, "-k RECORDS"},
    {"--size", kSample, "-k RECORDS"},
    {"--columns", kCat | kSample, "--select COLUMNS"},
    {"--limit", kCat, "-r 1-N"},
    {"--head", kCat, "-r 1-N"},
    {"-l", kCat, "-r 1-N"},
    {"-s", kCat, "--select COLUMNS"},
    {"-o", kPrints, "> FILE"},
    {"--output", kPrints, "> FILE"},
}};

bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// A number with a suffix: "20" and 3 zeros for "20k". Without a suffix there are no zeros.
struct Scaled {
    std::string_view digits;
    unsigned zeros = 0;
};

std::optional<Scaled> scaled(std::string_view text) {
    constexpr std::string_view kUnits = "kmg";  // thousands
    if (const std::size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
        Scaled number{text.substr(0, e)};
        const std::string_view power = text.substr(e + 1);
        const auto [end, error] = std::from_chars(power.data(), power.data() + power.size(), number.zeros);
        const bool is_whole = error == std::errc() && end == power.data() + power.size();
        return is_whole ? std::optional(number) : std::nullopt;
    }
    if (text.empty()) return std::nullopt;
    const std::size_t unit = kUnits.find(to_lower(text.back()));
    if (unit == std::string_view::npos) return Scaled{text};
    return Scaled{text.substr(0, text.size() - 1), static_cast<unsigned>(3 * (unit + 1))};
}

// The number that the string stands for, if it is an integer below 2^64: 20000 for "20k", 1500000 for "1.5M", 1000 for
// "1_000".
std::optional<std::uint64_t> meant_number(std::string_view text) {
    auto number = scaled(text);
    if (!number) return std::nullopt;
    std::string digits;
    bool is_after_point = false;
    for (const char c : number->digits) {
        if (c == '.' && !is_after_point) {
            is_after_point = true;
        } else if (c >= '0' && c <= '9') {
            if (is_after_point && number->zeros-- == 0) return std::nullopt;
            digits += c;
        } else if (std::string_view("_,'").find(c) == std::string_view::npos) {
            return std::nullopt;
        }
    }
    constexpr unsigned kMostZeros = 19;  // the largest power of ten below 2^64
    if (digits.empty() || number->zeros > kMostZeros) return std::nullopt;
    digits.append(number->zeros, '0');
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() ? std::optional(value) : std::nullopt;
}

// Whether the proposal of a hint is possible: "-d BYTE" requires that the verb has -d, "> FILE" requires nothing.
bool is_possible(Verb verb, std::string_view proposal) {
    return !proposal.starts_with('-') || has_option(verb, proposal.substr(0, proposal.find(' ')));
}

// Whether the string has the form K/N.
bool is_share(std::string_view text) {
    const std::size_t slash = text.find('/');
    return slash != std::string_view::npos && is_number(text.substr(0, slash)) && is_number(text.substr(slash + 1));
}

// In split -n l/4 and l/2/4 the letter asks for whole lines. cleave never cuts a record.
std::string_view without_letter(std::string_view text) { return text.starts_with("l/") ? text.substr(2) : text; }

// Whether the word is a unit of size, such as MB.
bool is_unit(std::string_view word) {
    std::string unit;
    for (const char letter : word) unit += to_lower(letter);
    return unit.size() < 4 && unit.find_first_of("kmgt") == 0 && (unit.size() == 1 || unit.ends_with('b'));
}

}  // namespace

std::string verb_hint(std::string_view word) {
    const auto* const row =
        std::ranges::find(kVerbs, word, [](const VerbHint& each) { return std::string_view(each.word); });
    return row == kVerbs.end() ? "" : formatted("; cleave {} {}", row->command, row->what);
}

std::string option_hint(Verb verb, std::string_view option) {
    constexpr std::size_t kLetter = 2;  // the length of "-b" in "-b10M"
    const bool is_long = option.starts_with("--");
    if (!is_long && option.size() > kLetter) {
        if (const std::string long_name = formatted("-{}", option); has_option(verb, long_name))
            return formatted("; did you mean {}?", long_name);
        if (is_number(option.substr(1)) && (kCut & bit(verb)) != 0) return formatted("; use -l {}", option.substr(1));
    }
    const std::string_view spelling = is_long ? option : option.substr(0, kLetter);
    const auto* const row = std::ranges::find_if(kOptions, [&](const OptionHint& each) {
        return (each.verbs & bit(verb)) != 0 && each.option == spelling && is_possible(verb, each.ours);
    });
    return row == kOptions.end() ? "" : formatted("; use {}", row->ours);
}

std::string second_input_hint(Verb verb, const LocationList& inputs, bool has_names) {
    if (verb == Verb::kSample && is_number(inputs[0].name())) return formatted("; use -k {}", inputs[0].name());
    if (std::ranges::any_of(inputs.all(), is_unit, &Location::name)) return "; a size is one word, such as 100MB";
    if (!has_names) return "; use -o 'PREFIX{i}{ext}' or -o FOLDER/ for the names of pieces";
    return "";
}

std::string number_hint(std::string_view text) {
    if (text.ends_with('%') && is_number(text.substr(0, text.size() - 1)))
        return "; give a number of records (cleave count FILE prints how many there are)";
    const auto number = meant_number(text);
    return number ? formatted("; write {}", *number) : "";
}

std::string pieces_hint(std::string_view text) {
    const std::string_view rest = without_letter(text);
    if (is_share(rest)) return formatted("; cleave cat -n {} FILE prints one piece", rest);
    return rest != text && is_number(rest) ? formatted("; write {} (no record is ever cut)", rest) : "";
}

std::string parts_hint(std::string_view text) { return is_number(text) ? formatted("; use -n {}", text) : ""; }

std::string share_hint(std::string_view text) {
    if (is_number(text)) return formatted("; for the first {} records, use -r 1-{}", text, text);
    const std::string_view rest = without_letter(text);
    return rest != text && is_share(rest) ? formatted("; write {}", rest) : "";
}

std::string range_hint(std::string_view text) {
    for (const std::string_view mark : {":", "..", ","}) {
        const std::size_t at = text.find(mark);
        if (at == std::string_view::npos) continue;
        const std::string_view first = text.substr(0, at);
        const std::string_view last = text.substr(at + mark.size());
        const bool is_range = (first.empty() || is_number(first)) && (last.empty() || is_number(last));
        if (is_range && text.size() > mark.size()) return formatted("; write {}-{}", first, last);
    }
    return "";
}

}  // namespace cleave::cli
