// Finds the header of an input that is read in order: doc/design.md, "What a record is". Knows no quotes: before the
// header there are only a lead and line breaks.
#pragma once

#include <cstdint>
#include <span>

#include "cleave/dialect.h"

namespace cleave {

class RecordIndex;

// For one thread at a time. Stops looking at the first byte that decides, so it costs nothing beyond that byte.
class HeaderFinder {
public:
    // At the start of an input.
    HeaderFinder(const Dialect& dialect, const Lead& lead);

    // Takes the next bytes of the input.
    void feed(std::span<const std::uint8_t> bytes);

    // Whether the byte that decides was fed: the first one under HeaderRecord::kFirst, else the first one other than
    // CR and LF; in both cases behind a preamble, and in the latter behind a byte order mark. If no byte decides, all
    // records are empty, and the first one behind the preamble is the header.
    bool is_found() const { return is_found_; }

    // Once the header is found: the offset of the byte that decided. The header ends at the first boundary after it.
    std::uint64_t content() const { return offset_; }

    // Once the header is found, or the input has ended: how many records the header takes up, the preamble included;
    // the preamble alone under HeaderRecord::kNone.
    std::uint64_t records() const;

private:
    bool ends_record(std::uint8_t line_break) const;

    Dialect dialect_;
    Lead lead_;
    std::uint64_t offset_ = 0;      // of the next byte, or of the byte that decided
    std::uint64_t ended_ = 0;       // empty records so far, behind a preamble
    bool is_after_return_ = false;  // the last byte was a CR
    bool is_found_ = false;
};

// How many records end with the one that says which fields records have: the header; under HeaderRecord::kNone the
// first record that is not empty, or the first one if all are. No more than a preamble if there is no such record.
// Throws what Blob::lend() throws.
std::uint64_t guiding_records(const RecordIndex& index);

}  // namespace cleave
