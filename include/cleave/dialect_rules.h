// What the bytes of a CSV file mean: its dialect, as plain data.
#pragma once

#include <cstdint>
#include <optional>

namespace cleave {

// Where a quote opens a quoted section.
enum class Quoting : std::uint8_t {
    kFieldStart,  // only as the first byte of a field; elsewhere it is plain data
    kAnywhere,    // anywhere: every quote opens or closes a section
};

// What ends a record, outside quotes.
enum class Terminator : std::uint8_t {
    kLf,   // LF; the CR of a CRLF stays in its record
    kCr,   // CR
    kAny,  // LF, CRLF or a lone CR; a CRLF is never cut in two
};

// Where an escape makes the next byte plain data.
enum class EscapeScope : std::uint8_t {
    kEverywhere,  // in any state, except under kFieldStart right after a closing quote (as in Python's csv)
    kQuoted,      // only inside quotes
};

// Which record is the header, if there is one.
enum class HeaderRecord : std::uint8_t {
    kFirstNotEmpty,  // the first one with any byte other than CR and LF, not counting a byte order mark; the empty
                     // records before it belong to the header; if all records are empty, the first one
    kFirst,          // the first one, whatever it contains
    kNone,           // none: all records are data, whatever a HeaderMode says
};

// The delimiter, quote and escape are one byte each. A doubled quote inside quotes always means one quote.
struct Dialect {
    std::uint8_t delimiter = ',';
    std::optional<std::uint8_t> quote = '"';
    std::optional<std::uint8_t> escape = {};
    EscapeScope escape_scope = EscapeScope::kEverywhere;
    Quoting quoting = Quoting::kFieldStart;
    Terminator terminator = Terminator::kLf;
    HeaderRecord header = HeaderRecord::kFirstNotEmpty;
    // The size of the preamble in bytes: the lines of an input before its header, or before its records if it has no
    // header. It includes a byte order mark. The preamble is not data. It counts as one record, which belongs to the
    // header.
    std::uint64_t preamble = 0;

    bool operator==(const Dialect&) const = default;
};

// The first bytes of an input, which are not data.
struct Lead {
    std::uint64_t size = 0;
    bool is_preamble = false;  // the whole first record; otherwise a byte order mark, which begins it

    std::uint64_t records() const { return is_preamble ? 1 : 0; }
};

}  // namespace cleave
