// What is known about options and verbs; the list of options is options.def.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace cleave::cli {

// Characters rather than pointers, which would be relocated in every run.
struct OptionMore {
    std::string (*choices)() = nullptr;  // the possible values, separated by blanks, if they can be listed
    bool is_path = false;                // the value is a path
    unsigned common = 0;                 // bits of the verbs whose short help has it, or kAllVerbs
    bool repeats = false;                // a second value is added to the first
    char feature[11] = {};               // that it belongs to
};

struct OptionRow {
    char group[16];  // its heading in the help
    char name[20];   // long name
    char letter;     // short name, or 0
    char value[21];  // the placeholder for its value, or empty for a switch
    unsigned verbs;  // bits of the verbs that take it, or kGeneral
    char help[76];   // {choices} stands for the choices, separated by commas
    OptionMore more = {};

    bool is_switch() const { return *value == '\0'; }
};

constexpr unsigned bit(Verb verb) { return 1U << static_cast<unsigned>(verb); }
constexpr unsigned kSplit = bit(Verb::kSplit);
constexpr unsigned kCount = bit(Verb::kCount);
constexpr unsigned kCheck = bit(Verb::kCheck);
constexpr unsigned kCat = bit(Verb::kCat);
constexpr unsigned kOffsets = bit(Verb::kOffsets);
constexpr unsigned kIndex = bit(Verb::kIndex);
constexpr unsigned kSample = bit(Verb::kSample);
constexpr unsigned kJoin = bit(Verb::kJoin);
constexpr unsigned kVerify = bit(Verb::kVerify);
constexpr unsigned kScan = bit(Verb::kScan);
constexpr unsigned kPlan = bit(Verb::kPlan);
constexpr unsigned kInfo = bit(Verb::kInfo);
constexpr unsigned kAllVerbs = (1U << kVerbCount) - 1;
constexpr unsigned kGeneral = 1U << kVerbCount;  // an option for use without a verb

// The options of this build, see options.def.
std::span<const OptionRow> option_table();

// A spelling from an earlier version. It will always work, but is not documented.
struct OldOption {
    char name[12];
    char letter;        // or 0
    unsigned verbs;     // bits of the verbs that took it
    char names[2][20];  // the options it stands for; a verb uses those that it has
};
std::span<const OldOption> old_options();

// Whether the row has this spelling, such as "-l" or "--records".
template <class Row>
bool has_spelling(const Row& row, std::string_view option) {
    if (option.size() < 2 || option[0] != '-') return false;
    if (option[1] != '-') return row.letter != 0 && option.size() == 2 && option[1] == row.letter;
    return option.size() > 2 && option[2] == row.name[0] && option.substr(2) == row.name;  // the first settles most
}

// Whether the verb belongs to a feature that was left out of this build.
bool is_left_out(Verb verb);
// Throw UsageError for such a verb, and for an option of such a feature among the words.
void refuse_left_out(Verb verb);
void refuse_left_out(const std::vector<std::string>& words);

// Whether the verb has an option, current or old, with this spelling.
bool has_option(Verb verb, std::string_view option);

const char* verb_name(Verb verb);
// The names of the verbs whose bit is set, separated by blanks.
std::string verb_names(unsigned bits);
// Also recognises the old names of verbs. std::nullopt for any other word.
std::optional<Verb> verb_by_name(const std::string& name);

}  // namespace cleave::cli
