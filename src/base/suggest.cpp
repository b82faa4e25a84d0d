#include "base/suggest.h"

#include <algorithm>
#include <cstddef>

#include "base/text_bytes.h"

namespace cleave {
namespace {

std::string lower_case(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) c = to_lower(c);
    return lower;
}

// Optimal string alignment, the restricted form of the Damerau (1964) and Levenshtein (1966) distance. Row i of the
// table holds the distances between the first i letters of `a` and every prefix of `b`. A swap looks back two rows, so
// three rows are kept. Takes O(|a| |b|) time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before_last(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        before_last.swap(last);
        last.swap(row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
            const bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (is_swap) row[j] = std::min(row[j], before_last[j - 2] + 1);
        }
    }
    return row[b.size()];
}

// A word without its leading dashes, which do not count as letters.
std::string_view letters(std::string_view word) {
    return word.substr(std::min(word.find_first_not_of('-'), word.size()));
}

}  // namespace

const std::string* nearest_name(std::string_view word, const std::vector<std::string>& names) {
    const std::string wanted = lower_case(letters(word));
    constexpr std::size_t kLongestWord = 40;  // bounds the time
    constexpr std::size_t kLeastBeginning = 2;
    constexpr std::size_t kShortWord = 3;  // a single change would make it a different word
    if (wanted.size() > kLongestWord) return nullptr;
    constexpr std::size_t kBeginning = 1;  // a match of the beginning counts as one change
    // A name must be nearer than this.
    std::size_t best = std::max(kBeginning + 1, wanted.size() / 3 + 1);
    const std::string* nearest = nullptr;
    for (const std::string& name : names) {
        const std::string known = lower_case(letters(name));
        const bool is_beginning = wanted.size() >= kLeastBeginning && known.starts_with(wanted);
        if (!is_beginning && wanted.size() <= kShortWord && known != wanted) continue;
        const std::size_t distance = is_beginning && known != wanted ? kBeginning : edit_distance(wanted, known);
        if (distance == best) nearest = nullptr;
        if (distance >= best) continue;
        best = distance;
        nearest = &name;
    }
    return nearest;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
    const std::string* const nearest = nearest_name(word, names);
    return nearest == nullptr ? "" : "; did you mean " + *nearest + "?";
}

}  // namespace cleave
