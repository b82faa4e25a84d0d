// Names of columns that are easily mistaken for one another: "E-Mail" and "email", or two that differ in a blank that
// nobody sees. What follows from that is for the caller to say.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace cleave {

// A set of names that finds similar ones; similar_names.cpp says which are. Names are any bytes. Throws std::bad_alloc
// alone. One thread.
class SimilarNames {
public:
    // Of names with the same skeleton, the first one added is found.
    void add(std::string_view name, std::size_t column);

    // The column of a name that is equal or similar to this one.
    std::optional<std::size_t> find(std::string_view name) const;

private:
    // No hash tables: see ColumnFinder.
    using Columns = std::map<std::u32string, std::size_t>;
    Columns by_letters_;
    Columns by_shape_;
    Columns by_shape_beyond_ascii_;  // only names that have a character beyond ASCII
};

}  // namespace cleave
