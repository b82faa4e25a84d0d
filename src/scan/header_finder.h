// Finds the header of an input that is read in order: doc/design.md, "What a record is". Knows no quotes: before the
// header there are only line breaks.
#pragma once

#include <cstdint>
#include <span>

#include "cleave/dialect.h"

namespace cleave {

// For one thread at a time. Stops looking at the first byte that decides, so it costs nothing beyond that byte.
class HeaderFinder {
public:
    // At the start of an input that begins with `bom` bytes of byte order mark.
    HeaderFinder(const Dialect& dialect, std::uint64_t bom);

    // Takes the next bytes of the input.
    void feed(std::span<const std::uint8_t> bytes);

    // Whether the byte that decides was fed: the first one under HeaderRecord::kFirst, else the first one other than
    // CR, LF and a byte order mark. If no byte decides, all records are empty, and the first record is the header.
    bool is_found() const { return is_found_; }

    // Once the header is found: the offset of the byte that decided. The header ends at the first boundary after it.
    std::uint64_t content() const { return offset_; }

    // Once the header is found, or the input has ended: how many records the header takes up; none under
    // HeaderRecord::kNone.
    std::uint64_t records() const;

private:
    bool ends_record(std::uint8_t line_break) const;

    Dialect dialect_;
    std::uint64_t bom_;
    std::uint64_t offset_ = 0;      // of the next byte, or of the byte that decided
    std::uint64_t ended_ = 0;       // empty records so far
    bool is_after_return_ = false;  // the last byte was a CR
    bool is_found_ = false;
};

}  // namespace cleave
