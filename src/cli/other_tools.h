// What users of split, xan, qsv and DuckDB type, and how cleave says it. For messages only: nothing here is accepted.
#pragma once

#include <string>
#include <string_view>

#include "cli/options.h"

namespace cleave::cli {

// Each function gives what follows the refusal of a word, from "; " on, or "" if no other tool has such a word. None
// throws anything but std::bad_alloc.

// A word where the verb belongs: "head".
std::string verb_hint(std::string_view word);

// An option that the verb does not have: "-b", "-b10M", "--lines".
std::string option_hint(Verb verb, std::string_view option);

// A value where a number belongs: "20k", "1e6", "10%".
std::string number_hint(std::string_view text);

// A value where a number of pieces belongs: "l/4", "2/4".
std::string pieces_hint(std::string_view text);

// A value where K/N belongs: "l/2/4".
std::string share_hint(std::string_view text);

// A value where a range A-B belongs: "1:5".
std::string range_hint(std::string_view text);

}  // namespace cleave::cli
