// What -h, --help, --version and --completion print.
#pragma once

#include <string>

#include "cli/option_table.h"
#include "cli/options.h"

namespace cleave::cli {

// All verbs, and the options that can be used without one.
std::string general_help();
const char* verb_summary(Verb verb);
// The words, separated by blanks, one of which must follow the verb. Empty for most verbs.
const char* verb_words(Verb verb);
// The help text of a row, with its choices filled in.
std::string option_help(const OptionRow& row);
// The common options and some examples. Fits a 24-line terminal.
std::string short_help(Verb verb);
// All options, in groups.
std::string long_help(Verb verb);
// The version, and the kernels.
std::string version_text();
// A completion script, from the option table: to source, or to install where the shell looks for them. It is the same
// on every machine.
std::string completion_script(Shell shell);

}  // namespace cleave::cli
