// Reads the values of a column a byte at a time. Shares no code with the library.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cleave/plan.h"
#include "inputs.h"
#include "reference.h"

namespace cleave::test {

// All records of a text with their values in one column.
struct Keyed {
    std::vector<std::uint64_t> begins;  // where each record begins, then the size of the text
    std::vector<std::string> values;
    std::vector<bool> lacks;  // whether the record lacks the field and is not empty
    std::size_t body = 0;

    std::size_t count() const { return values.size(); }
    bool is_change(std::size_t record) const {
        return record <= body || record == count() || values[record] != values[record - 1];
    }
    std::size_t change_after(std::size_t record) const {
        while (!is_change(record)) ++record;
        return record;
    }
    std::size_t record_at(std::uint64_t offset) const {
        return static_cast<std::size_t>(std::ranges::lower_bound(begins, offset) - begins.begin());
    }
};

Keyed read_keys(const std::string& text, const Dialect& dialect, std::size_t column, HeaderMode header);

// Records in runs with the same value in column `column`, written in every possible way. Some records are empty or too
// short.
std::string random_runs(Random& random, const Dialect& dialect, std::size_t column, std::size_t size);

}  // namespace cleave::test
