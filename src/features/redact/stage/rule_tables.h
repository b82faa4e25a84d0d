// The contents of the files that rules name, parsed. Operations refer to them by index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "features/redact/stage/scaled_number.h"
#include "features/redact/stage/value.h"

namespace cleave {

// The lines of a file, for pick(): each is a value that may be picked. Immutable.
class ValueList {
public:
    // Lines end in LF or CRLF. Empty lines and a byte order mark are ignored. Throws ArgumentError if no line is left.
    explicit ValueList(std::string_view text);

    std::uint64_t count() const noexcept { return values_.size(); }
    const std::string& operator[](std::uint64_t index) const { return values_[index]; }
    std::uint64_t longest() const noexcept { return longest_; }  // in bytes

private:
    std::vector<std::string> values_;
    std::uint64_t longest_ = 0;
};

// What values become, for generalise(): one level of a table whose records are VALUE, LEVEL 1, LEVEL 2 and so on. VALUE
// is a value, a range A..B of numbers, both included, or `*` for everything else. Immutable.
class Hierarchy {
public:
    // `level` counts from 1. The file is comma-separated, with double quotes. Throws ArgumentError for a malformed
    // file, with the number of the record: a record without this level, a value that appears twice, ranges that
    // overlap.
    Hierarchy(std::string_view text, std::uint64_t level);

    // What the value becomes; nullptr if the table does not say. A value comes before a range.
    const std::string* find(Value value) const;
    std::uint64_t longest() const noexcept { return longest_; }  // in bytes

private:
    struct Range {
        std::int64_t first;
        std::int64_t last;
        std::string label;
    };

    void add(std::size_t record, const std::string& key, std::string label);
    void check_ranges();

    std::map<std::string, std::string, std::less<>> values_;
    std::vector<Range> ranges_;  // ascending, without overlaps
    std::optional<std::string> rest_;
    std::uint64_t longest_ = 0;
};

struct RuleTables {
    std::vector<std::shared_ptr<const ValueList>> lists;
    std::vector<std::shared_ptr<const Hierarchy>> hierarchies;
};

}  // namespace cleave
