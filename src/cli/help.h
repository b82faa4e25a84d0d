// The texts of --help and --version.
#pragma once

#include <string>

#include "cli/option_table.h"

namespace cleave::cli {

std::string general_help();
const char* verb_summary(Verb verb);
// The words that must follow the verb first: one of them, separated by blanks. Empty for most verbs.
const char* verb_words(Verb verb);
// The text of a row, with its choices.
std::string option_help(const OptionRow& row);
std::string verb_help(Verb verb);
// The version, and the kernels.
std::string version_text();

}  // namespace cleave::cli
