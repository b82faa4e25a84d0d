// The options of all verbs, a row each. The parser, the help and the completions read this table.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace cleave::cli {

struct OptionRow {
    const char* name;   // long name
    char letter;        // short name, or 0
    const char* value;  // what its value is called, or nullptr for a switch
    const char* help;   // {choices} stands for the choices, with commas
    unsigned verbs;     // the bits of the verbs that take it, or kGeneral
    const char* group;  // heading in the help

    // The possible values: names separated by blanks, or kPath, or empty if they cannot be listed.
    std::string choices = {};
};
constexpr unsigned bit(Verb verb) { return 1U << static_cast<unsigned>(verb); }
constexpr unsigned kAllVerbs = (1U << kVerbCount) - 1;
constexpr unsigned kGeneral = 1U << kVerbCount;  // an option that stands instead of a verb
constexpr const char* kPath = "/";

// The rows in the order of the help. An option whose meaning differs by verb has several rows, each for other verbs;
// they agree in the letter, in the choices and in whether there is a value.
const std::vector<OptionRow>& option_table();

// The names separated by blanks, as in OptionRow::choices.
std::string joined(const std::vector<std::string_view>& names);

const char* verb_name(Verb verb);
// The names of the verbs whose bit is set, separated by blanks.
std::string verb_names(unsigned bits);
std::optional<Verb> verb_by_name(const std::string& name);

}  // namespace cleave::cli
