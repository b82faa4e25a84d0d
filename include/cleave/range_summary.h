// What a range of an input does to a reader that comes into it, whatever stands before the range. Summaries of
// neighbours compose, so that each machine reads its own bytes only. range_plan.h makes plans of them, and
// doc/ranges.md has their JSON. Knows no pieces.
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
    kQuoteInQuoted,   // just past a quote that closes, or is the first of a doubled one
    kEscape,          // just past an escape that acts outside quotes
    kEscapeInQuoted,  // just past an escape that acts inside quotes
    kCarriageReturn,  // just past a CR that ended the record unless an LF follows; only under Terminator::kAny
    // At the start of the input or within its preamble; and inside a byte order mark, if it is one.
    kStart,  // before the first byte that is not of the preamble
    kMark1,  // past EF
    kMark2,  // past EF BB
    // Under HeaderRecord::kFirstNotEmpty, as long as there was nothing but CR, LF and a byte order mark.
    kEmptyAfterMark,       // just past the byte order mark
    kEmptyRecordStart,     // as kRecordStart
    kEmptyUnquoted,        // past a CR or LF that is no terminator
    kEmptyCarriageReturn,  // as kCarriageReturn
    kNone,                 // no reader comes here
};
constexpr std::size_t kRangeStateCount = 15;            // without kNone
constexpr std::size_t kExactStateCount = 8;             // the states before kStart
constexpr std::uint64_t kNoOffset = UINT64_MAX;         // an offset that is not there
constexpr std::uint64_t kBeforeRange = UINT64_MAX - 1;  // an offset before the range, which the summary does not know

// What a range does to a reader that comes into it in one state, by the dialect's quote rule. Offsets are bytes of the
// input. The preamble starts no record here: RangeFold counts it.
struct RangeRow {
    std::uint64_t records = 0;  // records that start in the range
    // The first and the last of these starts. Where the reader is in kStart, the next start is never the first one.
    std::uint64_t first = kNoOffset;
    std::uint64_t last = kNoOffset;
    // The end of the header, if it is the first record start in the range that may be: the first one past a byte of the
    // header record. And how many records start in the range before it. From the exact states it is `first`.
    std::uint64_t header = kNoOffset;
    std::uint64_t header_records = 0;
    // The quote of the section that is open at the end of the range, or would be if a quote followed. kNoOffset if
    // there is none.
    std::uint64_t open = kNoOffset;
    RangeState exit = RangeState::kNone;

    bool operator==(const RangeRow&) const = default;
};

// What becomes of a reader by the other quote rule that reads the range beside the reader by the dialect's rule. They
// have started the same records before the range.
struct RulesRow {
    // Where the rules came apart: before they differ, or if they are apart at the end of the range. Else kNoOffset.
    std::uint64_t parted = kNoOffset;
    std::uint64_t records = 0;            // that start in the range before the first difference; 0 without one
    bool differ = false;                  // a record starts in the range by one rule, and not by the other
    RangeState exit = RangeState::kNone;  // of the reader by the other rule; kNone if the rules differ

    bool operator==(const RulesRow&) const = default;
};

// A summary of the bytes [begin, end). Plain data that can be sent as its bytes to a machine of the same byte order: a
// reduction by compose() that keeps the order, as MPI_Exscan with an operation that does not commute, gives each range
// the summary of all that is before it. Two summaries of the same range are equal, however they were composed.
struct RangeSummary {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    Dialect dialect;
    std::array<RangeRow, kRangeStateCount> states;  // by RangeState
    // By the state of the reader by the dialect's rule times kExactStateCount, plus the state of the other reader,
    // where both are exact states. In the other states both are in the same: kExactStateCount squared, plus the state,
    // less kExactStateCount.
    std::array<RulesRow, kExactStateCount * kExactStateCount + kRangeStateCount - kExactStateCount> rules;

    const RangeRow& row(RangeState state) const { return states[static_cast<std::size_t>(state)]; }
    RangeRow& row(RangeState state) { return states[static_cast<std::size_t>(state)]; }
    const RulesRow& row(RangeState own, RangeState other) const { return rules[index_of(own, other)]; }
    RulesRow& row(RangeState own, RangeState other) { return rules[index_of(own, other)]; }

    // Of `rules`. Precondition: both are exact states, or the same one.
    static constexpr std::size_t index_of(RangeState own, RangeState other) {
        const auto a = static_cast<std::size_t>(own);
        return a < kExactStateCount ? a * kExactStateCount + static_cast<std::size_t>(other)
                                    : kExactStateCount * kExactStateCount + a - kExactStateCount;
    }

    bool operator==(const RangeSummary&) const = default;
};
static_assert(std::is_trivially_copyable_v<RangeSummary>);

// The summary of two ranges as one. Associative, and not commutative. Throws std::invalid_argument if `second` does not
// begin where `first` ends, or their dialects are not the same.
RangeSummary compose(const RangeSummary& first, const RangeSummary& second);

// Summarises bytes [begin, begin + blob.size()) of an input, which are all of the blob. The bytes before and after
// the range are not looked at. Of a range that begins the input, throws InputError as refuse_foreign(). Throws
// Cancelled, what Blob::lend() and Blob::throw_if_lost() throw, and std::invalid_argument for a dialect with a fault, a
// bad execution, and a range that ends past the largest offset. The execution's summariser and index are not used.
RangeSummary summarise_range(const Blob& blob, std::uint64_t begin, const Dialect& dialect, const Execution& execution,
                             const Cancellation* cancellation = nullptr);
RangeSummary summarise_range(std::span<const std::uint8_t> bytes, std::uint64_t begin, const Dialect& dialect,
                             const Execution& execution, const Cancellation* cancellation = nullptr);

}  // namespace cleave
