// Suggests what the user may have meant by an unknown word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cleave {

// The one of `names` that is nearest to `word`; null if none is near or if two are equally near. Case and leading
// dashes do not count. A name is near if `word` is its beginning, of two letters at least. To a word of more than three
// letters a name is also near if at most a third of the letters, and at least one, has to be inserted, deleted,
// replaced or swapped with its neighbour.
const std::string* nearest_name(std::string_view word, const std::vector<std::string>& names);

// "; did you mean NAME?" for the nearest name, "" if there is none.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

}  // namespace cleave
