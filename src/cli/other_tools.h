// Maps what users of split, xan, qsv and DuckDB type to cleave's spelling. For messages only: none of it is accepted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace cleave::cli {

// Each function returns the text that follows the rejection of a word, starting with "; ", or "" if no other tool has
// such a word. They throw only std::bad_alloc.

// For a word in place of the verb: "head".
std::string verb_hint(std::string_view word);

// For an option that the verb does not have: "-b", "-b10M", "--lines".
std::string option_hint(Verb verb, std::string_view option);

// For a second input that may be none: of `split a.csv b`. `has_names` says whether the names of pieces are known.
std::string second_input_hint(Verb verb, const LocationList& inputs, bool has_names);

// For a value in place of a number: "20k", "1e6", "10%".
std::string number_hint(std::string_view text);

// For a value in place of a number of pieces: "l/4", "2/4".
std::string pieces_hint(std::string_view text);

// For a number of pieces in place of the names of parts.
std::string parts_hint(std::string_view text);

// For a value in place of K/N: "l/2/4".
std::string share_hint(std::string_view text);

// For a value in place of a range A-B: "1:5".
std::string range_hint(std::string_view text);

}  // namespace cleave::cli
