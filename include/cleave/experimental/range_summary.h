// What a range of an input does to a reader that enters it, whatever comes before the range. Summaries of adjacent
// ranges compose, so each machine reads only its own bytes. range_plan.h makes plans from them, and doc/guide/ranges.md
// describes their JSON. Knows nothing about pieces.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "cleave/blob.h"
#include "cleave/cancel.h"
#include "cleave/dialect.h"
#include "cleave/scan.h"

namespace cleave {

// The state of a reader between two bytes.
enum class RangeState : std::uint8_t {
    // Past the first byte of the header record, and past a byte order mark.
    kRecordStart,     // just past a terminator
    kFieldStart,      // just past a delimiter
    kUnquoted,        // inside a field, outside quotes
    kQuoted,          // inside quotes
    kQuoteInQuoted,   // just past a quote that closes, or is the first of a doubled quote
    kEscape,          // just past an escape that acts outside quotes
    kEscapeInQuoted,  // just past an escape that acts inside quotes
    kCarriageReturn,  // just past a CR that ended the record unless an LF follows; only under Terminator::kAny
    // At the start of the input, within its preamble, or inside what may be a byte order mark.
    kStart,  // before the first byte after the preamble
    kMark1,  // past EF
    kMark2,  // past EF BB
    // Under HeaderRecord::kFirstNotEmpty, while there has been nothing but CR, LF and a byte order mark.
    kEmptyAfterMark,       // just past the byte order mark
    kEmptyRecordStart,     // as kRecordStart
    kEmptyUnquoted,        // past a CR or LF that is not a terminator
    kEmptyCarriageReturn,  // as kCarriageReturn
    kNone,                 // no reader is ever in this state
};
constexpr std::size_t kRangeStateCount = 15;  // without kNone
constexpr std::size_t kExactStateCount = 8;   // the states before kStart
constexpr std::uint64_t kNoOffset = UINT64_MAX;
constexpr std::uint64_t kBeforeRange = UINT64_MAX - 1;  // an offset before the range, unknown to the summary

// What a range does to a reader that enters it in a given state, under the dialect's quote mode. Offsets are bytes of
// the input. The preamble does not start a record here: RangeFold counts it.
struct RangeRow {
    std::uint64_t records = 0;  // records that start in the range
    // The first and the last of these starts. A record that starts while the reader is in kStart is never the first.
    std::uint64_t first = kNoOffset;
    std::uint64_t last = kNoOffset;
    // `header` is the first record start in the range that can be the end of the header, that is, the first one after a
    // byte of the header record; from the exact states it equals `first`. `header_records` is how many records start in
    // the range before it.
    std::uint64_t header = kNoOffset;
    std::uint64_t header_records = 0;
    // The opening quote of the section that is open at the end of the range, or would be if a quote followed. kNoOffset
    // if there is none.
    std::uint64_t open = kNoOffset;
    RangeState exit = RangeState::kNone;

    bool operator==(const RangeRow&) const = default;
};

// What becomes of a reader in the other quote mode that reads the range alongside the reader in the dialect's mode.
// Both have seen the same record starts before the range.
struct RulesRow {
    // Where the modes parted, if they go on to differ or are still apart at the end of the range. Otherwise kNoOffset.
    std::uint64_t parted = kNoOffset;
    std::uint64_t records = 0;            // records that start in the range before the first difference; 0 if there is
                                          // none
    bool differ = false;                  // a record starts in the range in one mode but not in the other
    RangeState exit = RangeState::kNone;  // of the reader in the other mode; kNone if the modes differ

    bool operator==(const RulesRow&) const = default;
};

// A summary of the bytes [begin, end). Plain data that can be sent, byte by byte, to a machine with the same byte
// order. A reduction with compose() that preserves the order, such as MPI_Exscan with a non-commutative operation,
// gives each range the summary of everything before it. Two summaries of the same range are equal, however they were
// composed.
struct RangeSummary {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    Dialect dialect;
    std::array<RangeRow, kRangeStateCount> states;  // by RangeState
    // Indexed by index_of(): the state of the reader in the dialect's mode times kExactStateCount, plus the state of
    // the other reader, if both states are exact. Otherwise both readers are in the same state, and the index is
    // kExactStateCount squared, plus the state, less kExactStateCount.
    std::array<RulesRow, kExactStateCount * kExactStateCount + kRangeStateCount - kExactStateCount> rules;

    const RangeRow& row(RangeState state) const { return states[static_cast<std::size_t>(state)]; }
    RangeRow& row(RangeState state) { return states[static_cast<std::size_t>(state)]; }
    const RulesRow& row(RangeState own, RangeState other) const { return rules[index_of(own, other)]; }
    RulesRow& row(RangeState own, RangeState other) { return rules[index_of(own, other)]; }

    // An index into `rules`. Precondition: both states are exact, or they are the same.
    static constexpr std::size_t index_of(RangeState own, RangeState other) {
        const auto a = static_cast<std::size_t>(own);
        return a < kExactStateCount ? a * kExactStateCount + static_cast<std::size_t>(other)
                                    : kExactStateCount * kExactStateCount + a - kExactStateCount;
    }

    bool operator==(const RangeSummary&) const = default;
};
static_assert(std::is_trivially_copyable_v<RangeSummary>);

// The summary of two ranges as one. Associative, but not commutative. Throws ArgumentError if `second` does not
// begin where `first` ends, or their dialects differ.
RangeSummary compose(const RangeSummary& first, const RangeSummary& second);

// Summarises bytes [begin, begin + blob.size()) of an input; the blob contains only these. Nothing before or after the
// range is read. For a range at the start of the input, throws InputError as refuse_foreign() does. Throws Cancelled,
// what Blob::lend() and Blob::throw_if_lost() throw, and ArgumentError for an invalid dialect, a bad execution,
// and a range that ends past the largest offset. Does not use the execution's summariser or index.
RangeSummary summarise_range(const Blob& blob, std::uint64_t begin, const Dialect& dialect, const Execution& execution,
                             const Cancellation* cancellation = nullptr);
RangeSummary summarise_range(std::span<const std::uint8_t> bytes, std::uint64_t begin, const Dialect& dialect,
                             const Execution& execution, const Cancellation* cancellation = nullptr);

}  // namespace cleave
