// Makes plans from the summaries of ranges, without the data: where each piece starts or, if the summaries do not say,
// what to look for in a single range. Also converts summaries and plans to and from JSON: see doc/guide/ranges.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cleave/blob.h"
#include "cleave/cancel.h"
#include "cleave/dialect.h"
#include "cleave/experimental/range_summary.h"
#include "cleave/plan.h"
#include "cleave/scan.h"

namespace cleave {

// Which version of an input was read. All ranges of a plan must be from the same version.
struct InputVersion {
    std::uint64_t size = 0;  // in bytes
    std::string name;        // such as "mtime_ns:1700000000000000000", or an object's ETag; not empty

    bool operator==(const InputVersion&) const = default;
};

// A boundary, or the range in which to find it. Boundaries count the header's records.
struct RangeCut {
    enum class Search : std::uint8_t {
        kNone,       // the boundary is known
        kAtOrAfter,  // the first record start at or after `target`; it is in the range
        kNth,        // record start number `target` in the range, from 0
    };
    Search search = Search::kNone;
    RangeState state = RangeState::kNone;  // on entering the range; kNone if the boundary is known
    std::uint64_t begin = 0;               // of the range
    std::uint64_t end = 0;                 // of the range
    std::uint64_t records = 0;             // records that start before the range; if the boundary is known, its record
    std::uint64_t target = 0;              // see Search; if the boundary is known, its offset

    bool operator==(const RangeCut&) const = default;
};

// The pieces of a whole input.
struct RangePlan {
    InputVersion input;
    Dialect dialect;
    Findings findings;
    HeaderMode header = HeaderMode::kRepeat;
    std::uint64_t header_size = 0;  // 0, or where the first piece starts
    std::vector<RangeCut> cuts;     // where the pieces start, in order

    std::uint64_t piece_count() const { return cuts.size(); }
    Boundary end() const { return {findings.size, findings.records}; }

    bool operator==(const RangePlan&) const = default;
};

// The summaries do not form one whole input. `what()` says which ranges are missing or duplicated, or what differs.
class RangesError : public InputError {
public:
    using InputError::InputError;
};

// Folds summaries, in any order. Keeps 48 bytes for each range that continues the ranges so far, and the whole summary
// of any other range.
class RangeFold {
public:
    explicit RangeFold(std::uint64_t input_size) : size_(input_size) {}

    // Throws RangesError if part of the range was added before, the range ends past the input, or the dialect differs.
    void add(const RangeSummary& summary);

    // The findings for the whole input. Throws RangesError if a range is missing.
    Findings findings() const;

    // Throws what findings() throws, PieceCountError, and ArgumentError for a bad policy and for one that needs
    // the data: a size limit, an alignment, Policy::together or Policy::by.
    RangePlan plan(const Policy& wanted) const;

private:
    // A range as the actual reader of the input passes through it.
    struct Known {
        std::uint64_t begin;
        std::uint64_t end;
        std::uint64_t records_before;
        std::uint64_t first;  // as in RangeRow
        std::uint64_t last;
        RangeState state;  // on entering it; kStart: its first record is the first one after the preamble
    };

    void follow(const RangeSummary& summary);
    std::uint64_t preamble_records() const;
    Boundary preamble_end() const;
    Boundary header_end() const;
    std::uint64_t records_in(const Known& range) const;
    static RangeCut cut_at(std::uint64_t offset, std::uint64_t record);
    RangeCut start_of(std::uint64_t record) const;
    RangeCut at_or_after(std::uint64_t offset) const;

    std::uint64_t size_;
    std::optional<Dialect> dialect_;
    std::map<std::uint64_t, RangeSummary> waiting_;  // for ranges before them; keyed by where they begin
    std::vector<Known> ranges_;                      // except those in which no record starts
    // What is known at the end of the contiguous ranges so far.
    std::uint64_t end_ = 0;
    std::uint64_t records_ = 0;
    RangeState state_ = RangeState::kStart;
    RangeState other_ = RangeState::kStart;  // in the other quote mode; kNone once the modes differ
    std::uint64_t second_ = kNoOffset;       // the start of the second record
    Boundary header_{kNoOffset, 0};          // the end of the header
    std::uint64_t open_ = kNoOffset;
    std::uint64_t parted_ = kNoOffset;
    std::optional<Place> divergence_;
};

// The plan of an input whose ranges are given in any order. Throws what RangeFold throws.
RangePlan plan_ranges(std::span<const RangeSummary> ranges, std::uint64_t input_size, const Policy& policy);

// Finds the cuts in the input, in order. Reads at most one range for each; one walk finds all cuts in the same range.
// Throws InputChangedError if the bytes do not match the summaries, Cancelled, what Blob::lend() throws, and
// ArgumentError for a bad execution.
std::vector<Boundary> find_cuts(const Blob& blob, const Dialect& dialect, std::span<const RangeCut> cuts,
                                const Execution& execution, const Cancellation* cancellation = nullptr);

// The summary of a range of this input as one line of JSON, without a line feed.
std::string range_text(const RangeSummary& summary, const InputVersion& input);

struct SummarisedRange {
    RangeSummary summary;
    InputVersion input;
};
// Throws InputError if the text is not such a summary.
SummarisedRange parse_range_text(std::string_view text);

// The plan as one line of JSON, without a line feed.
std::string plan_text(const RangePlan& plan);
// Throws InputError if the text is not such a plan.
RangePlan parse_plan_text(std::string_view text);

}  // namespace cleave
