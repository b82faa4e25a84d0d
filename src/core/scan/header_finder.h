// Finds the header of an input that is read in order; see "What a record is" in doc/internals/design.md. Knows nothing
// about quotes, because only a lead and line breaks come before the header.
#pragma once

#include <cstdint>
#include <span>

#include "cleave/dialect.h"

namespace cleave {

class RecordIndex;

// Use from one thread at a time. It stops at the first byte that decides, so it costs nothing beyond that byte.
class HeaderFinder {
public:
    // Starts at the beginning of an input.
    HeaderFinder(const Dialect& dialect, const Lead& lead);

    // Takes the next bytes of the input.
    void feed(std::span<const std::uint8_t> bytes);

    // Whether the byte that decides has been fed. Under HeaderRecord::kFirst that is the first byte after a preamble;
    // otherwise it is the first byte other than CR and LF after a preamble or byte order mark. If there is no such
    // byte, all records are empty, and the header is the first record after the preamble.
    bool is_found() const { return is_found_; }

    // Once the header is found: the offset of the byte that decided. The header ends at the first boundary after it.
    std::uint64_t content() const { return offset_; }

    // Once the header is found or the input has ended: how many records the header takes up, including the preamble.
    // Under HeaderRecord::kNone only the preamble counts.
    std::uint64_t records() const;

private:
    bool ends_record(std::uint8_t line_break) const;

    Dialect dialect_;
    Lead lead_;
    std::uint64_t offset_ = 0;      // offset of the next byte, or of the byte that decided
    std::uint64_t ended_ = 0;       // number of empty records so far, after a preamble
    bool is_after_return_ = false;  // the last byte was a CR
    bool is_found_ = false;
};

// The number of records up to and including the guiding record, which determines how many fields a record has. That is
// the header, or under HeaderRecord::kNone the first non-empty record, or the first record if all are empty. If there
// is no such record, only a preamble counts. Throws what Blob::lend() throws.
std::uint64_t guiding_records(const RecordIndex& index);

}  // namespace cleave
