// What stands before the first record of an input that is data.
#pragma once

#include <algorithm>
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
    // Byte order mark, empty records, header; without a header the mark alone. Never a preamble: nobody knows what its
    // values are. A mark before a preamble is left out if there is no header.
    std::vector<std::uint8_t> bytes;
    std::size_t record_begin = 0;  // where in `bytes` the header record begins
    std::uint64_t size = 0;        // of the bytes of the input before its records, the preamble included
    std::uint64_t preamble = 0;    // bytes of these
    std::uint64_t records = 0;     // before them, the preamble included
    bool has_header = false;
    std::vector<std::uint8_t> sample;  // the header record; without a header the first record that is not empty
    Place sample_place;

    std::span<const std::uint8_t> prefix() const { return std::span(bytes).first(record_begin); }
    std::span<const std::uint8_t> record() const { return std::span(bytes).subspan(record_begin); }
    // Those of `bytes` that stand right before byte `offset` of the input, if the records begin there; else none.
    std::span<const std::uint8_t> before(std::uint64_t offset) const {
        if (offset != size) return {};
        return std::span(bytes).last(std::min<std::size_t>(bytes.size(), size - preamble));
    }
};

// Does not move the input. Throws as Input::peek(), and InputError for a record longer than `max_record`.
InputHead read_head(Input& input, const Dialect& dialect, HeaderMode mode, std::uint64_t max_record);

// For rules. Throws InputError where an input without a header begins with a byte order mark and a quote: readers
// differ in whether that quote opens a field, and so in where the field ends.
void refuse_marked_quote(const InputHead& head, const Dialect& dialect);

}  // namespace cleave
