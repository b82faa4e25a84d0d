// What stands before the first record of an input that is data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cleave/input.h"
#include "cleave/plan.h"
#include "cleave/scan.h"

namespace cleave {

// The bytes of an input before its first record that is data.
struct InputHead {
    std::vector<std::uint8_t> bytes;  // byte order mark, empty records, header; without a header the mark alone
    std::size_t record_begin = 0;     // where in `bytes` the header record begins
    std::uint64_t records = 0;        // in `bytes`
    bool has_header = false;
    std::vector<std::uint8_t> sample;  // the header record; without a header the first record that is not empty
    Place sample_place;

    std::span<const std::uint8_t> prefix() const { return std::span(bytes).first(record_begin); }
    std::span<const std::uint8_t> record() const { return std::span(bytes).subspan(record_begin); }
};

// Does not move the input. Throws as Input::peek(), and InputError for a record longer than `max_record`.
InputHead read_head(Input& input, const Dialect& dialect, HeaderMode mode, std::uint64_t max_record);

// For rules. Throws InputError where an input without a header begins with a byte order mark and a quote: readers
// differ in whether that quote opens a field, and so in where the field ends.
void refuse_marked_quote(const InputHead& head, const Dialect& dialect);

}  // namespace cleave
