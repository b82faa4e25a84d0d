// The options of all verbs, one row each. The parser, the help and the completions read this table.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace cleave::cli {

struct OptionRow {
    std::string_view name;  // long name
    char letter;            // short name, or 0
    const char* value;      // the placeholder for its value, or nullptr for a switch
    const char* help;       // {choices} stands for the choices, separated by commas
    unsigned verbs;         // bits of the verbs that take it, or kGeneral
    const char* group;      // its heading in the help

    // The possible values: names separated by blanks, kPath, or empty if they cannot be listed.
    std::string choices = {};
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
constexpr const char* kPath = "/";

// The rows, in the order in which the help lists them. An option whose meaning differs by verb has several rows for
// disjoint sets of verbs; they share the letter, the choices and whether there is a value.
const std::vector<OptionRow>& option_table();

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
    const bool is_letter = row.letter != 0 && option.size() == 2 && option[0] == '-' && option[1] == row.letter;
    return is_letter || (option.starts_with("--") && option.substr(2) == row.name);
}

// Whether the verb belongs to a feature that was left out of this build.
bool is_left_out(Verb verb);
// Throw UsageError for such a verb, and for an option of such a feature among the words.
void refuse_left_out(Verb verb);
void refuse_left_out(const std::vector<std::string>& words);

// Whether the verb has an option, current or old, with this spelling.
bool has_option(Verb verb, std::string_view option);

// The names separated by blanks, as in OptionRow::choices.
std::string joined(const std::vector<std::string_view>& names);

const char* verb_name(Verb verb);
// The names of the verbs whose bit is set, separated by blanks.
std::string verb_names(unsigned bits);
// Also recognises the old names of verbs. std::nullopt for any other word.
std::optional<Verb> verb_by_name(const std::string& name);

}  // namespace cleave::cli
