// Finds what comes before the first data record of an input.
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

// The bytes of an input before its first data record.
struct InputHead {
    // The byte order mark, empty records and the header or, without a header, only the byte order mark. The preamble is
    // never included, because nobody can interpret its values. Without a header, a byte order mark before a preamble is
    // left out too.
    std::vector<std::uint8_t> bytes;
    std::size_t record_begin = 0;  // where the header record begins in `bytes`
    std::uint64_t size = 0;        // of the input's bytes before its data records, including the preamble
    std::uint64_t preamble = 0;    // how many of these bytes are the preamble
    std::uint64_t records = 0;     // before the data records, including the preamble
    bool has_header = false;
    std::vector<std::uint8_t> sample;  // the header record or, without a header, the first record that is not empty
    Place sample_place;

    std::span<const std::uint8_t> prefix() const { return std::span(bytes).first(record_begin); }
    std::span<const std::uint8_t> record() const { return std::span(bytes).subspan(record_begin); }
    // The part of `bytes` that comes right before byte `offset` of the input if the data records begin there; otherwise
    // empty.
    std::span<const std::uint8_t> before(std::uint64_t offset) const {
        if (offset != size) return {};
        return std::span(bytes).last(std::min<std::size_t>(bytes.size(), size - preamble));
    }
};

// Does not advance the input. Throws what Input::peek() throws, and InputError for a record longer than `max_record`.
InputHead read_head(Input& input, const Dialect& dialect, HeaderMode mode, std::uint64_t max_record);

// Used with rules. Throws InputError if an input without a header begins with a byte order mark followed by a quote:
// readers disagree on whether that quote opens a field, and therefore on where the field ends.
void refuse_marked_quote(const InputHead& head, const Dialect& dialect);

}  // namespace cleave
