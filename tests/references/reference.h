// The rules of doc/design.md, "What a record is", followed by the letter and a byte at a time. All other tests are
// judged by it. It shares no code and no idea with the library. Its speed does not matter.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cleave/dialect.h"
#include "cleave/scan.h"

namespace cleave::test {

// What a text is by the rules.
struct Reading {
    std::uint64_t size = 0;
    std::vector<std::uint64_t> starts;  // the first byte of every record, ascending
    std::vector<std::uint64_t> opens;   // the quotes that open a quoted section; the second of a doubled one does not
    bool open_at_end = false;           // the last section is never closed

    // The record that holds the byte, from 0.
    std::uint64_t record_of(std::uint64_t offset) const;
    std::optional<Place> open_quote() const;

    // As Locator's.
    Boundary end() const { return {size, starts.size()}; }
    Boundary start_of(std::uint64_t record) const;
    Boundary at_or_after(std::uint64_t offset) const;
    Boundary at_or_before(std::uint64_t offset) const;
};

// The reading by the dialect's quote rule, or by another one. The dialect has no fault.
Reading read_by_rules(std::string_view text, const Dialect& dialect);
Reading read_by_rules(std::string_view text, Dialect dialect, Quoting quoting);

// How many records the header takes up: the preamble, the empty ones that follow it, and the next one. If all of these
// are empty, or the dialect says so, only one follows the preamble.
std::uint64_t header_records(std::string_view text, const Dialect& dialect);

// The first byte at which a record starts by one quote rule and not by the other.
std::optional<std::uint64_t> first_difference(std::string_view text, const Dialect& dialect);

}  // namespace cleave::test
