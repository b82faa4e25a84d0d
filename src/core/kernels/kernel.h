// What a kernel is: the scan of bytes for one instruction set, as functions over plain data. Knows what a quote, a
// delimiter, a terminator and an escape are, but nothing about files, threads or pieces. Code compiled for other
// instruction sets includes this header, so it contains only declarations and plain structs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cleave/field_row.h"

namespace cleave {

// The scan, and the binary output of the command, need little-endian words.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "cleave needs little-endian words");

// The bytes to look for, and the variant of the scan that looks for them (see kernels/markup.h).
struct Markup {
    std::uint8_t quote;
    std::uint8_t delimiter;
    std::uint8_t escape;
    std::uint8_t terminator;  // the only terminator, or LF where CR, LF and CRLF all terminate
    std::uint8_t variant;     // index into Kernel::summarise and Kernel::mark
};

// A variant of the scan is a combination of three switches: the use of escapes, one terminator or any, and quotes or
// none.
enum class EscapeUse : std::uint8_t { kNone, kEverywhere, kQuoted };
constexpr std::size_t kVariantCount = 12;  // 3 uses of escapes x {one terminator, any} x {no quotes, quotes}
constexpr std::uint8_t variant_of(bool has_quote, bool any_terminator, EscapeUse escape) {
    return static_cast<std::uint8_t>(static_cast<unsigned>(escape) * 4 + (any_terminator ? 2 : 0) +
                                     (has_quote ? 1 : 0));
}

// What a scan must know at a byte about the bytes before it. Each member is 0 or 1.
struct Carry {
    std::uint8_t inside;            // inside quotes
    std::uint8_t escaped;           // the next byte is escaped
    std::uint8_t field_may_open;    // the previous byte is a delimiter, terminator or quote, or this is the first byte
    std::uint8_t after_terminator;  // the previous byte is a terminator
    std::uint8_t after_cr;          // the previous byte is a CR that terminates
    std::uint8_t after_quote;       // the previous byte is a quote that opened or closed
};

// The summary of a block under two hypotheses: that it begins outside quotes (index 0) or inside (index 1). A record
// belongs to the block that contains its first byte.
struct BlockSummary {
    std::uint32_t records[2];  // records that start in the block
    std::uint8_t suspect[2];   // 1: the two quote modes may differ in this block; only an exact walk can tell
    std::uint8_t flips;        // 1: the block ends outside quotes if it begins inside, and vice versa
};

// The quote mode in which bytes are read. kBoth: both modes at once, for as long as they agree.
enum class Rules : std::uint8_t { kFieldStart, kAnywhere, kBoth };
constexpr std::size_t kRulesCount = 3;

// How far bytes have been read from a known state, with everything needed to continue from there.
struct Position {
    Carry carry;
    std::uint64_t offset;    // of the next byte
    std::uint64_t records;   // records that start before `offset`
    std::uint64_t open_end;  // just past the last quote that opened a section, or 0
};

// What Kernel::pick_fields needs to know where n fields have ended since the start of a record, if all records have the
// same number of fields.
struct PickWindow {         // bit i: of the field after i more
    std::uint64_t picked;   // whether its end is to be listed
    std::uint64_t is_last;  // whether it is the last one of its record
};
struct PickCounts {
    std::uint32_t picked;  // how many of the n ends are to be listed
    std::uint32_t ended;   // how many of the n fields are in the record that is not over
};

// The fields of a run of bytes. Offsets count from the first byte of the run.
struct FieldList {
    // The offset of the byte after each field: its delimiter, or the first byte of its record's terminator. Where only
    // LF terminates, it is the offset of the LF, although a CR before it belongs to the terminator too.
    std::uint32_t* ends;
    FieldRow* rows;  // one for each record that starts here
    std::size_t end_count;
    std::size_t row_count;
    // For Kernel::pick_fields:
    const PickWindow* windows = nullptr;  // for each n below the number of fields
    const PickCounts* counts = nullptr;   // the same, and for 64 more
    bool is_uneven = false;               // set if a record has another number of fields; `ends` is then of no use
};

constexpr std::size_t kStepSize = 64;
constexpr std::size_t kLaneCount = 4;
constexpr std::size_t kLaneUnit = 8 * kStepSize;  // the size of a lane is a multiple of this

struct Kernel {
    const char* name;

    // Summarises data[0, size) under both hypotheses and ignores before.inside. `size` must be below 2^32. `data` may
    // have any alignment; nothing outside the range is read.
    BlockSummary (*summarise[kVariantCount])(const Markup& markup, const std::uint8_t* data, std::size_t size,
                                             Carry before);

    // Does the same for kLaneCount consecutive lanes of `lane_size` bytes, a multiple of kLaneUnit, each with its own
    // carry and summary. This is faster than summarising them one after another.
    void (*summarise_lanes[kVariantCount])(const Markup& markup, const std::uint8_t* data, std::size_t lane_size,
                                           const Carry* before, BlockSummary* out);

    // Marks the record starts of data[0, size) in starts[0, ceil(size / 64)), one bit per byte, in the given quote
    // mode, and advances `position`. Stops before a step that the masks cannot decide: in a single mode, if an escape
    // may not act; under kBoth, if the two modes may diverge. Returns the number of bytes marked: `size`, or a multiple
    // of 64.
    std::size_t (*mark[kRulesCount][kVariantCount])(const Markup& markup, const std::uint8_t* data, std::size_t size,
                                                    Position& position, std::uint64_t* starts);

    // Appends to `fields` the fields that end in data[0, size), and a row for every record that starts there, and
    // advances `position`. The offset of data[0] is position.offset. `fields` must have room for size + 64 ends and as
    // many rows. Stops before a step with a byte on which readers may disagree: where mark() would stop under kBoth; at
    // a byte after a closing quote other than a delimiter, terminator or quote; and at a CR or LF outside quotes that
    // is not part of a terminator. If such a CR is the last byte of a step, it may not be checked until the next step;
    // carry.after_cr is then set before that step. Returns the number of bytes processed: `size`, or a multiple of 64.
    // Leaves position.open_end unchanged.
    std::size_t (*mark_fields[kVariantCount])(const Markup& markup, const std::uint8_t* data, std::size_t size,
                                              Position& position, FieldList& fields);

    // Does the same from the start of a record, but lists the ends of only those fields that fields.windows picks, and
    // no records. Leaves position.records unchanged, too. Null where several bytes are terminators, and without PDEP.
    // Where deposits_fast() is false, mark_fields() is faster.
    std::size_t (*pick_fields[kVariantCount])(const Markup& markup, const std::uint8_t* data, std::size_t size,
                                              Position& position, FieldList& fields);
};

}  // namespace cleave
