// Follows the rules of doc/internals/design.md, "What a record is", to the letter and a byte at a time. All other tests
// rely on it. It shares neither code nor ideas with the library; its speed does not matter.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cleave/dialect.h"
#include "cleave/scan.h"

namespace cleave::test {

// A text as read by the rules.
struct Reading {
    std::uint64_t size = 0;
    std::vector<std::uint64_t> starts;  // the first byte of every record, ascending
    std::vector<std::uint64_t> opens;   // quotes that open a quoted section; not the second half of a doubled quote
    bool open_at_end = false;           // the last section is never closed

    // The record that holds the byte, from 0.
    std::uint64_t record_of(std::uint64_t offset) const;
    std::optional<Place> open_quote() const;

    // As in Locator.
    Boundary end() const { return {size, starts.size()}; }
    Boundary start_of(std::uint64_t record) const;
    Boundary at_or_after(std::uint64_t offset) const;
    Boundary at_or_before(std::uint64_t offset) const;
};

// Reads in the dialect's quote mode, or in the given one. The dialect must be valid.
Reading read_by_rules(std::string_view text, const Dialect& dialect);
Reading read_by_rules(std::string_view text, Dialect dialect, Quoting quoting);

// How many records the header takes up: the preamble, the empty records that follow it, and the next record. If all of
// these are empty, or if the dialect says so, only one record follows the preamble.
std::uint64_t header_records(std::string_view text, const Dialect& dialect);

// The first byte at which a record starts in one quote mode but not in the other.
std::optional<std::uint64_t> first_difference(std::string_view text, const Dialect& dialect);

}  // namespace cleave::test
