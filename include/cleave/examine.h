// Examines an input: what it contains, and what is unusual in it. Every byte goes through the exact state machine, so
// this is slower than scan(), which only finds record starts. Knows nothing about pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cleave/dialect.h"
#include "cleave/error.h"
#include "cleave/input.h"
#include "cleave/scan.h"

namespace cleave {

// A count, and the place of the first one.
struct Tally {
    std::uint64_t count = 0;
    std::optional<Place> first;

    bool operator==(const Tally&) const = default;
};

// A record that does not have as many fields as the header record. For a record with too many fields, the place is the
// delimiter before the first surplus one; for a record with too few, it is where the record ends: its terminator, or
// the end of the input.
struct RaggedRecord {
    Place place;
    std::uint64_t fields = 0;

    bool operator==(const RaggedRecord&) const = default;
};

// All ragged records. Empty records are not counted. A record with an open quote counts only if it has too many fields.
struct Ragged : Tally {
    std::uint64_t fields = 0;          // of the first ragged record
    std::vector<RaggedRecord> listed;  // the first ones, in the order of the input

    bool operator==(const Ragged&) const = default;
};

// How records end. An unescaped CR right before the LF that ends a record counts as part of the terminator, even under
// Terminator::kLf, where a CR has no other role.
struct TerminatorCounts {
    std::uint64_t lf = 0;
    std::uint64_t crlf = 0;
    std::uint64_t cr = 0;
    std::uint64_t none = 0;  // 1 if the last record has none

    bool operator==(const TerminatorCounts&) const = default;
};

struct RecordExtent {
    Place start;
    std::uint64_t size = 0;  // with its terminator and, if it is the first one, a byte order mark

    bool operator==(const RecordExtent&) const = default;
};

// What was counted, record by record. Offsets and record numbers refer to the input.
struct Census {
    std::uint64_t records = 0;
    TerminatorCounts terminators;
    // CRs and LFs outside quotes that are not part of a terminator: lone CRs under Terminator::kLf, LFs under kCr, and
    // escaped ones.
    std::uint64_t data_breaks = 0;
    std::uint64_t quoted_breaks = 0;  // line breaks inside quotes; CRLF counts as one
    RecordExtent longest;             // the first one of that size
    Tally empty;                      // records with nothing but the terminator and a byte order mark
    Tally marks;  // UTF-8 byte order marks that are not at the start of the input, including quoted ones
    // Sequences of bytes that are not UTF-8 and that a decoder would replace with one U+FFFD each; bytes that are 0.
    Tally not_utf8;
    Tally nuls;
    // Quotes in a field that does not begin with a quote, whatever the quote mode; and closing quotes that are not
    // followed by a delimiter, a terminator or the end of the input.
    Tally stray_quotes;
    Ragged ragged;

    bool operator==(const Census&) const = default;
};

// The part of a line around a place, at most kReach bytes on either side. A line ends at any CR or LF. A UTF-8
// character that would be cut in two is left out.
struct Excerpt {
    static constexpr std::size_t kReach = 60;

    std::string text;
    std::size_t caret = 0;  // the place, as an index into `text`; text.size() if the line ends there
    bool is_cut_before = false;
    bool is_cut_after = false;

    bool operator==(const Excerpt&) const = default;
};

// A line that is not JSON: where it stops being JSON, and why, such as "a string is not closed".
struct JsonLineFault {
    Place place;
    std::string what;

    bool operator==(const JsonLineFault&) const = default;
};

struct JsonKeyCount {
    std::string name;  // as text; a lone surrogate is three bytes, as in UTF-8 if that had surrogates
    std::uint64_t count = 0;

    bool operator==(const JsonKeyCount&) const = default;
};

// What was counted in JSON Lines, line by line.
struct JsonCensus {
    static constexpr std::size_t kMostKeys = 1000;
    static constexpr std::size_t kLongestKey = 256;  // in bytes

    struct NotJson : Tally {
        std::optional<Excerpt> excerpt;     // around the first one's place
        std::vector<JsonLineFault> listed;  // the first ones

        bool operator==(const NotJson&) const = default;
    };
    NotJson not_json;
    Tally blank;  // lines with nothing but blanks, a byte order mark aside; they are not in not_json
    // The keys of the lines that are objects, without those of objects inside, in the order in which they first occur.
    // A key that an object has twice counts twice. No keys if there are more than kMostKeys, or one longer than
    // kLongestKey; then has_more_keys is set.
    std::vector<JsonKeyCount> keys;
    bool has_more_keys = false;

    bool operator==(const JsonCensus&) const = default;
};

struct Examination {
    static constexpr std::size_t kMaxHeadSize = kSniffSize;

    Findings findings;
    Census census;
    // The record that is the header under the dialect's HeaderRecord, whether or not the input has a header; size 0 if
    // the input is empty.
    RecordExtent header;
    std::uint64_t fields = 0;        // in that record; 0 if the input is empty
    std::vector<std::uint8_t> head;  // the part of that record in the first kMaxHeadSize bytes of the input
    // Excerpts around the places of the same name.
    std::optional<Excerpt> open_quote;
    std::optional<Excerpt> divergence;
    std::optional<Excerpt> stray_quote;
    std::optional<Excerpt> ragged;
    std::optional<JsonCensus> json;  // if the dialect is the one of JSON Lines

    bool operator==(const Examination&) const = default;
};

constexpr std::uint64_t kListedRagged = 10;

// Examines the whole input: a blob with several threads, a stream in order. The same bytes give the same examination.
// Lists the first `max_listed` ragged records, and lines that are not JSON; UINT64_MAX lists all of them. Memory: about
// 65 bytes per block of a blob, up to 100 bytes per listed record, and the longest lines of JSON Lines. A blob is
// examined in at most 4096 parts, each of which can list `max_listed` records before the lists are joined. Throws what
// scan() throws.
Examination examine(Input& input, const Dialect& dialect, const Execution& execution = {},
                    std::uint64_t max_listed = kListedRagged);

}  // namespace cleave
