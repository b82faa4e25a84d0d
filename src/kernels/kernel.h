// What a kernel is: the scan of bytes for one instruction set, as functions over plain data. Knows what a
// quote, a delimiter, a terminator and an escape are; knows no files, threads or pieces.
// This header is included by code compiled for other instruction sets: declarations and plain structs only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cleave/field_row.h"

namespace cleave {

// The scan and the binary output of the command need words whose lowest byte comes first, and sizes of 64 bits.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && sizeof(void*) == 8, "cleave needs little-endian, 64 bits");

// The bytes to look for, and which of the scan's variants looks for them (see kernels/markup.h).
struct Markup {
    std::uint8_t quote;
    std::uint8_t delimiter;
    std::uint8_t escape;
    std::uint8_t terminator;  // the one terminator, or LF where CR, LF and CRLF all terminate
    std::uint8_t variant;     // index into Kernel::summarise and Kernel::mark
};

// A variant of the scan is a choice of three switches: the use of escapes, one terminator or any, quotes or none.
enum class EscapeUse : std::uint8_t { kNone, kEverywhere, kQuoted };
constexpr std::size_t kVariantCount = 12;  // 3 uses of escapes x {one terminator, any} x {no quotes, quotes}
constexpr std::uint8_t variant_of(bool has_quote, bool any_terminator, EscapeUse escape) {
    return static_cast<std::uint8_t>(static_cast<unsigned>(escape) * 4 + (any_terminator ? 2 : 0) +
                                     (has_quote ? 1 : 0));
}

// What a byte needs to know of the bytes before it. Each field is 0 or 1.
struct Carry {
    std::uint8_t inside;            // inside quotes
    std::uint8_t escaped;           // the next byte is escaped
    std::uint8_t field_may_open;    // the byte before is a delimiter, a terminator or a quote, or there is none
    std::uint8_t after_terminator;  // the byte before is a terminator
    std::uint8_t after_cr;          // the byte before is a CR that terminates
    std::uint8_t after_quote;       // the byte before is a quote that opened or closed
};

// The summary of a block under two hypotheses: it begins outside quotes (index 0) or inside (index 1). Records belong
// to the block that holds their first byte.
struct BlockSummary {
    std::uint32_t records[2];  // records that start in the block
    std::uint8_t suspect[2];   // 1: the two quote rules may differ here, only an exact walk tells
    std::uint8_t flips;        // 1: the block ends in the other state than it began in
};

// The quote rule that bytes are read by. kBoth: by both rules, as long as they agree.
enum class Rules : std::uint8_t { kFieldStart, kAnywhere, kBoth };
constexpr std::size_t kRulesCount = 3;

// How far bytes are read from a known state, with all that is needed to go on from there.
struct Position {
    Carry carry;
    std::uint64_t offset;    // of the next byte
    std::uint64_t records;   // that start before it
    std::uint64_t open_end;  // just past the last quote that opened a section, or 0
};

// The fields of a run of bytes. Offsets count from its first byte.
struct FieldList {
    // The byte after each field: its delimiter, or the first byte of its record's terminator (under one terminator LF,
    // the LF, though a CR before it belongs to the terminator too).
    std::uint32_t* ends;
    FieldRow* rows;  // one for each record that begins here
    std::size_t end_count;
    std::size_t row_count;
};

constexpr std::size_t kStepSize = 64;
constexpr std::size_t kLaneCount = 4;
constexpr std::size_t kLaneUnit = 8 * kStepSize;  // the length of a lane is a multiple of this

struct Kernel {
    const char* name;

    // Summarises data[0, size) for both hypotheses; before.inside is ignored. size < 2^32. Any alignment; reads
    // nothing outside the range.
    BlockSummary (*summarise[kVariantCount])(const Markup& markup, const std::uint8_t* data, std::size_t size,
                                             Carry before);

    // The same for kLaneCount lanes of `lane_size` bytes, a multiple of kLaneUnit, that stand one after another, each
    // with its own carry and summary. Faster than one by one.
    void (*summarise_lanes[kVariantCount])(const Markup& markup, const std::uint8_t* data, std::size_t lane_size,
                                           const Carry* before, BlockSummary* out);

    // Marks the record starts of data[0, size) in starts[0, ceil(size / 64)), a bit a byte, by the rules, and moves
    // `position`. Stops before a step that the masks cannot decide: under one rule if an escape may not act, under
    // kBoth if the rules may come apart. Returns the number of bytes marked: size, or a multiple of 64.
    std::size_t (*mark[kRulesCount][kVariantCount])(const Markup& markup, const std::uint8_t* data, std::size_t size,
                                                    Position& position, std::uint64_t* starts);

    // Appends the fields that end in data[0, size), and a row for every record that starts there, to `fields`, and
    // moves `position`. position.offset is what offsets count from. Needs room for size + 64 ends and rows. Stops
    // before a step that holds a byte at which readers may differ: where mark() stops under kBoth, after a closing
    // quote a byte other than a delimiter, terminator or quote, and a CR or LF outside quotes that is no part of a
    // terminator (the last one may be seen only in the next step: then carry.after_cr is set before it). Returns the
    // number of bytes done: size, or a multiple of 64. Leaves position.open_end as it is.
    std::size_t (*mark_fields[kVariantCount])(const Markup& markup, const std::uint8_t* data, std::size_t size,
                                              Position& position, FieldList& fields);
};

}  // namespace cleave
