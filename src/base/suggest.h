// Suggests what the user may have meant by an unknown word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cleave {

// The name nearest to `word`, or null if none is near or two are equally near. Case and leading dashes are ignored. A
// name is near if it begins with `word` and `word` has at least two letters. If `word` has more than three letters, a
// name is also near if a few changes turn one into the other. A change inserts, deletes or replaces a letter, or swaps
// it with its neighbour. The number of changes may be at most a third of the number of letters in `word`.
const std::string* nearest_name(std::string_view word, const std::vector<std::string>& names);

// "; did you mean NAME?" for the nearest name, or "" if there is none.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

}  // namespace cleave
