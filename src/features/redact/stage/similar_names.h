// Finds column names that are easily mistaken for one another: "E-Mail" and "email", or two names that differ only in
// an invisible blank. The caller decides what to do about it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string_view>

namespace cleave {

// A set of names that finds similar ones; similar_names.cpp defines similarity. Names may be any bytes. Throws only
// std::bad_alloc. For one thread at a time.
class SimilarNames {
public:
    // If several names have the same skeleton, the first one added is found.
    void add(std::string_view name, std::size_t column);

    // The column of a name that is equal or similar to `name`.
    std::optional<std::size_t> find(std::string_view name) const;

private:
    // Not hash tables; see ColumnFinder.
    using Columns = std::map<std::u32string, std::size_t>;
    Columns by_letters_;
    Columns by_shape_;
    Columns by_shape_beyond_ascii_;  // only names with a character beyond ASCII
};

// Characters beyond ASCII that look like ASCII letters, digits or punctuation: a small selection from Unicode Technical
// Standard 39, https://www.unicode.org/reports/tr39/.

struct Confusable {
    char32_t character;
    // What it looks like: one or two ASCII characters, never capitals.
    char twin[3];
};

// The whole table, in ascending order.
std::span<const Confusable> confusables() noexcept;

// What the character looks like; empty if it is not in the table. Takes O(log n) time.
std::string_view twin_of(char32_t character) noexcept;

}  // namespace cleave
