// Plans from the summaries of ranges, without the data: where each piece starts, as far as summaries tell, and what is
// to be looked for in one range where they do not. And summaries and plans as JSON: doc/ranges.md.
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
#include "cleave/plan.h"
#include "cleave/range_summary.h"
#include "cleave/scan.h"

namespace cleave {

// Which version of an input was read. All ranges of a plan must be of one version.
struct InputVersion {
    std::uint64_t size = 0;  // in bytes
    std::string name;        // such as "mtime_ns:1700000000000000000", or the ETag of an object; not empty

    bool operator==(const InputVersion&) const = default;
};

// A boundary, or the range in which it is found. Boundaries are counted with the header.
struct RangeCut {
    enum class Search : std::uint8_t {
        kNone,       // the boundary is known
        kAtOrAfter,  // the first record start at `target` or after it, which lies in the range
        kNth,        // the record start number `target` of those in the range, from 0
    };
    Search search = Search::kNone;
    RangeState state = RangeState::kNone;  // in which the range is entered; kNone if the boundary is known
    std::uint64_t begin = 0;               // of the range
    std::uint64_t end = 0;                 // of the range
    std::uint64_t records = 0;             // that start before the range; the record of a boundary that is known
    std::uint64_t target = 0;              // the offset of a boundary that is known

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

// The summaries do not make up one input. `what()` says which ranges are missing or there twice, or what differs.
class RangesError : public InputError {
public:
    using InputError::InputError;
};

// Folds summaries, in any order. Keeps 48 bytes of each range that follows the ranges so far, and whole summaries of
// the others.
class RangeFold {
public:
    explicit RangeFold(std::uint64_t input_size) : size_(input_size) {}

    // Throws RangesError if a part of the range was added before, the range ends past the input, or the dialect is
    // another one.
    void add(const RangeSummary& summary);

    // Of the whole input. Throws RangesError if a range is missing.
    Findings findings() const;

    // Throws as findings(), PieceCountError, and std::invalid_argument for a bad policy, and for one that needs the
    // data: by size, with an alignment, together, and by value.
    RangePlan plan(const Policy& wanted) const;

private:
    // A range, and what it is to the reader of the input.
    struct Known {
        std::uint64_t begin;
        std::uint64_t end;
        std::uint64_t records_before;
        std::uint64_t first;  // as in RangeRow
        std::uint64_t last;
        RangeState state;  // in which it is entered; kStart: its first record is the first one behind the preamble
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
    std::map<std::uint64_t, RangeSummary> waiting_;  // for ranges before them, by their begin
    std::vector<Known> ranges_;                      // without those in which no record starts
    // What is known at the end of the ranges that follow one another.
    std::uint64_t end_ = 0;
    std::uint64_t records_ = 0;
    RangeState state_ = RangeState::kStart;
    RangeState other_ = RangeState::kStart;  // by the other rule; kNone once the rules differ
    std::uint64_t second_ = kNoOffset;       // the start of the second record
    Boundary header_{kNoOffset, 0};          // the end of the header
    std::uint64_t open_ = kNoOffset;
    std::uint64_t parted_ = kNoOffset;
    std::optional<Place> divergence_;
};

// The plan of an input whose ranges are given in any order. Throws as RangeFold.
RangePlan plan_ranges(std::span<const RangeSummary> ranges, std::uint64_t input_size, const Policy& policy);

// Finds the cuts in the input, in order. Reads at most one range for each; cuts in one range are found in one walk.
// Throws InputChangedError if the bytes are not those of the summaries, Cancelled, what Blob::lend() throws, and
// std::invalid_argument for a bad execution.
std::vector<Boundary> find_cuts(const Blob& blob, const Dialect& dialect, std::span<const RangeCut> cuts,
                                const Execution& execution, const Cancellation* cancellation = nullptr);

// The summary of a range of that input on one line of JSON, without a line feed.
std::string range_text(const RangeSummary& summary, const InputVersion& input);

struct SummarisedRange {
    RangeSummary summary;
    InputVersion input;
};
// Throws InputError for a text that is no such summary.
SummarisedRange parse_range_text(std::string_view text);

// The plan on one line of JSON, without a line feed.
std::string plan_text(const RangePlan& plan);
// Throws InputError for a text that is no such plan.
RangePlan parse_plan_text(std::string_view text);

}  // namespace cleave
