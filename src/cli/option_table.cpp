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

struct VerbName {
    char name[8];
    char feature[8];  // that it belongs to
};
// Characters rather than pointers, which would be relocated in every run.
constexpr VerbName kVerbNames[kVerbCount] = {
    {"split", ""},      {"count", ""},     {"check", "check"}, {"cat", ""},          {"offsets", ""},
    {"index", "index"}, {"sample", ""},    {"join", ""},       {"verify", "redact"}, {"scan", "ranges"},
    {"plan", "ranges"}, {"key", "redact"}, {"info", "gpu"}};

// Choices of an option that are listed elsewhere.
template <const auto& kChoices>
std::string names_of() {
    return choice_names(kChoices);  // NOLINT(readability-redundant-parentheses): clang sees the argument in some
}
template <std::vector<std::string_view> (*kNames)()>
std::string joined() {
    return formatted("{}", fmt::join(kNames(), " "));
}

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): an entry of a list
#define OPTION(...) OptionRow{__VA_ARGS__},
#define PAGE(...)
constexpr OptionRow kAllRows[] = {
#include "cli/options.def"
};
#undef OPTION
#undef PAGE

constexpr bool has_feature_of(unsigned verb) {
    return *kVerbNames[verb].feature == 0 || has_feature(kVerbNames[verb].feature);
}

// The verbs of this build.
constexpr unsigned kBuiltVerbs = [] {
    unsigned bits = kGeneral;
    for (unsigned verb = 0; verb < kVerbCount; ++verb) bits |= has_feature_of(verb) ? 1U << verb : 0;
    return bits;
}();

constexpr bool is_built(const OptionRow& row) {
    return (row.verbs & kBuiltVerbs) != 0 && (*row.more.feature == 0 || has_feature(row.more.feature));
}

// The rows of this build.
constexpr auto kRows = [] {
    std::array<OptionRow, static_cast<std::size_t>(std::ranges::count_if(kAllRows, is_built))> rows;
    std::ranges::copy_if(kAllRows, rows.begin(), is_built);
    return rows;
}();

}  // namespace

void refuse_without(std::string_view feature, std::string_view what) {
    throw UsageError(
        formatted("{}{}this cleave was built without the feature '{}'", what, what.empty() ? "" : ": ", feature));
}

bool is_left_out(Verb verb) { return (bit(verb) & kBuiltVerbs) == 0; }

void refuse_left_out(Verb verb) {
    if (is_left_out(verb)) refuse_without(kVerbNames[static_cast<std::size_t>(verb)].feature, verb_name(verb));
}

void refuse_left_out(const std::vector<std::string>& words) {
    if constexpr (kRows.size() == std::size(kAllRows)) return;
    for (const std::string& word : words) {
        if (word == "--") return;
        if (!word.starts_with("--")) continue;
        const std::string_view option = std::string_view(word).substr(0, word.find('='));
        const auto is_it = [&](const auto& row) { return has_spelling(row, option); };
        const std::span<const OldOption> olds = old_options();
        const auto old = std::ranges::find_if(olds, is_it);
        for (const OptionRow& row : kAllRows) {
            const bool is_meant = is_it(row) || (old != olds.end() && std::string_view(row.name) == old->names[0]);
            if (is_meant && *row.more.feature != 0 && !has_feature(row.more.feature))
                refuse_without(row.more.feature, option);
        }
    }
}

std::span<const OptionRow> option_table() { return kRows; }

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

const char* verb_name(Verb verb) { return kVerbNames[static_cast<std::size_t>(verb)].name; }

std::string verb_names(unsigned bits) {
    std::vector<std::string_view> names;
    for (unsigned verb = 0; verb < kVerbCount; ++verb) {
        if ((bits >> verb & 1) != 0 && !is_left_out(static_cast<Verb>(verb))) names.emplace_back(kVerbNames[verb].name);
    }
    return formatted("{}", fmt::join(names, " "));
}

std::optional<Verb> verb_by_name(const std::string& name) {
    constexpr std::string_view kOldInfo = "machine";
    if (name == kOldInfo) return Verb::kInfo;
    const auto* found = std::ranges::find_if(kVerbNames, [&](const VerbName& row) { return name == row.name; });
    if (found == std::end(kVerbNames)) return std::nullopt;
    return static_cast<Verb>(found - std::begin(kVerbNames));
}

}  // namespace cleave::cli
