// Folds the summaries of ranges in order. The reader of the input enters each range in only one state, so one row of
// each summary is enough: the state in which the reader leaves the range, how many records start in it, and where the
// first and the last of them start.
//
//   the n-th record start: is in the last range with at most n record starts before it
//   the first record start at or after an offset: is in the range that contains the offset, if the last record start of
//       that range is at or after the offset; otherwise it is the first record start of the next range that has one
//
// The first and the last record start of a range are known. Any other record start is found by reading only the range
// that contains it.
#include "cleave/experimental/range_plan.h"

#include <algorithm>

#include "base/bits.h"
#include "base/parallel.h"
#include "cleave/error.h"
#include "core/offsets/check_arguments.h"
#include "core/offsets/limits.h"
#include "core/scan/check_arguments.h"
#include "core/scan/walker.h"
#include "features/ranges/range_machine.h"

namespace cleave {
namespace {

std::string bytes_text(std::uint64_t begin, std::uint64_t end) {
    return "bytes " + std::to_string(begin) + "-" + std::to_string(end);
}

// How many pieces there are under this policy.
std::uint64_t count_pieces(const Policy& policy, std::uint64_t records, bool has_written_header) {
    if (policy.pieces) return *policy.pieces;
    if (records == 0) return has_written_header ? 1 : 0;
    return records / *policy.records + (records % *policy.records != 0 ? 1 : 0);
}

}  // namespace

void RangeFold::add(const RangeSummary& summary) {
    const std::string range = bytes_text(summary.begin, summary.end);
    if (summary.begin > summary.end || summary.end > size_)
        throw RangesError(range + " are not within an input of " + std::to_string(size_) + " bytes");
    if (!dialect_) {
        dialect_ = summary.dialect;
        records_ = preamble_records();
    }
    if (*dialect_ != summary.dialect) throw RangesError(range + " were read with another dialect than those before");
    if (summary.begin == summary.end) return;
    const auto overlap = [&](std::uint64_t begin, std::uint64_t end) {
        throw RangesError(range + " overlap " + bytes_text(begin, end) + ", which have already been given");
    };
    if (summary.begin < end_) overlap(0, end_);
    const auto after = waiting_.lower_bound(summary.begin);
    if (after != waiting_.end() && after->first < summary.end) overlap(after->first, after->second.end);
    if (after != waiting_.begin()) {
        const auto before = std::prev(after);
        if (before->second.end > summary.begin) overlap(before->first, before->second.end);
    }
    if (summary.begin != end_) {
        waiting_.emplace_hint(after, summary.begin, summary);
        return;
    }
    follow(summary);
    while (!waiting_.empty() && waiting_.begin()->first == end_) {
        follow(waiting_.begin()->second);
        waiting_.erase(waiting_.begin());
    }
}

void RangeFold::follow(const RangeSummary& summary) {
    const RangeRow& row = summary.row(state_);
    const RulesRow rules = other_ == RangeState::kNone ? RulesRow() : summary.row(state_, other_);
    const bool has_rules = other_ == RangeState::kNone || rules.differ || rules.exit != RangeState::kNone;
    if (row.exit == RangeState::kNone || !has_rules)
        throw RangesError(bytes_text(summary.begin, summary.end) + ": the summary is incomplete");
    if (row.records > 0) ranges_.push_back({summary.begin, summary.end, records_, row.first, row.last, state_});
    if (other_ != RangeState::kNone) {
        if (rules.parted != kBeforeRange) parted_ = rules.parted;
        if (rules.differ) divergence_ = Place{parted_, records_ + rules.records - 1};
        other_ = rules.exit;
    }
    if (second_ == kNoOffset) second_ = row.first;
    if (header_.offset == kNoOffset && row.header != kNoOffset) header_ = {row.header, records_ + row.header_records};
    if (row.open != kBeforeRange) open_ = row.open;
    state_ = row.exit;
    records_ += row.records;
    end_ = summary.end;
}

Findings RangeFold::findings() const {
    if (end_ != size_ || !waiting_.empty()) {
        const std::uint64_t next = waiting_.empty() ? size_ : waiting_.begin()->first;
        throw RangesError(bytes_text(end_, next) + " are missing from the summaries");
    }
    Findings findings;
    findings.size = size_;
    findings.records = records_;
    findings.header_records = header_end().record;
    findings.preamble_records = preamble_records();
    findings.divergence = divergence_;
    if (dialect_ && is_quoted(RangeMachine(*dialect_).exact(state_))) findings.open_quote = Place{open_, records_ - 1};
    return findings;
}

std::uint64_t RangeFold::preamble_records() const { return dialect_ && dialect_->preamble > 0 && size_ > 0 ? 1 : 0; }

Boundary RangeFold::preamble_end() const {
    return {dialect_ ? std::min(dialect_->preamble, size_) : 0, preamble_records()};
}

// If all records are empty, the first one is the header.
Boundary RangeFold::header_end() const {
    if (dialect_ && dialect_->header == HeaderRecord::kNone) return preamble_end();
    if (header_.offset != kNoOffset) return header_;
    if (records_ == preamble_records()) return preamble_end();
    const bool has_content = !is_empty_so_far(state_);
    if (has_content) return {size_, records_};
    return {second_ == kNoOffset ? size_ : second_, preamble_records() + 1};
}

RangeCut RangeFold::cut_at(std::uint64_t offset, std::uint64_t record) {
    RangeCut cut;
    cut.records = record;
    cut.target = offset;
    return cut;
}

std::uint64_t RangeFold::records_in(const Known& range) const {
    const std::size_t next = static_cast<std::size_t>(&range - ranges_.data()) + 1;
    return (next < ranges_.size() ? ranges_[next].records_before : records_) - range.records_before;
}

RangeCut RangeFold::start_of(std::uint64_t record) const {
    if (record >= records_) return cut_at(size_, records_);
    if (record < preamble_records()) return cut_at(0, record);
    const Known& range = *std::prev(std::ranges::upper_bound(ranges_, record, {}, &Known::records_before));
    const std::uint64_t number = record - range.records_before;
    const bool is_first = range.state == RangeState::kStart;
    if (is_first && number == 0) return cut_at(preamble_end().offset, record);
    if (number == (is_first ? 1U : 0U)) return cut_at(range.first, record);
    if (number == records_in(range) - 1) return cut_at(range.last, record);
    return {RangeCut::Search::kNth, range.state, range.begin, range.end, range.records_before, number};
}

RangeCut RangeFold::at_or_after(std::uint64_t offset) const {
    const auto range = std::ranges::find_if(std::ranges::lower_bound(ranges_, offset + 1, {}, &Known::end),
                                            ranges_.end(), [&](const Known& each) { return each.last >= offset; });
    if (range == ranges_.end()) return cut_at(size_, records_);
    const bool is_first = range->state == RangeState::kStart;
    const Boundary first = preamble_end();
    if (is_first && offset <= first.offset) return cut_at(first.offset, first.record);
    if (range->first != kNoOffset && range->first >= offset)
        return cut_at(range->first, range->records_before + (is_first ? 1 : 0));
    if (range->last == offset) return cut_at(range->last, range->records_before + records_in(*range) - 1);
    return {RangeCut::Search::kAtOrAfter, range->state, range->begin, range->end, range->records_before, offset};
}

RangePlan RangeFold::plan(const Policy& wanted) const {
    const Policy policy = of_dialect(checked(wanted), dialect_.value_or(Dialect()));
    if (!is_by_records_alone(policy) && !is_by_pieces_alone(policy))
        throw ArgumentError("plan: this policy needs the data");
    RangePlan plan;
    plan.findings = findings();
    if (dialect_) plan.dialect = *dialect_;
    plan.input.size = size_;
    plan.header = policy.header;
    const Boundary body = policy.header == HeaderMode::kNone ? preamble_end() : header_end();
    plan.header_size = body.offset;
    const std::uint64_t records = records_ - body.record;
    if (policy.pieces) check_piece_count("pieces", *policy.pieces, records);
    const bool has_written_header = header_size_in(policy.header, 1, body.offset) > 0;
    const std::uint64_t count = count_pieces(policy, records, has_written_header);
    for (std::uint64_t number = 0; number < count; ++number) {
        if (number == 0) {
            plan.cuts.push_back(cut_at(body.offset, body.record));
        } else if (policy.records) {
            plan.cuts.push_back(start_of(body.record + number * *policy.records));
        } else if (policy.balance == Balance::kRecords) {
            plan.cuts.push_back(start_of(body.record + records / count * number + std::min(number, records % count)));
        } else {
            plan.cuts.push_back(at_or_after(share_end(policy, number, body.offset, size_)));
        }
    }
    return plan;
}

RangePlan plan_ranges(std::span<const RangeSummary> ranges, std::uint64_t input_size, const Policy& policy) {
    RangeFold fold(input_size);
    for (const RangeSummary& range : ranges) fold.add(range);
    return fold.plan(policy);
}

namespace {

// Walks one range from cut to cut.
class CutFinder {
public:
    CutFinder(const Blob& blob, const Dialect& dialect, const Kernel& kernel, const RangeCut& range)
        : blob_(blob), walker_(dialect, kernel, lead_of_range(blob, dialect, range)) {
        // If the bytes so far could be a byte order mark, the walker knows whether they are one. The preamble has
        // already been counted.
        const RangeMachine machine(dialect);
        const std::uint64_t preamble = std::min(walker_.lead().is_preamble ? dialect.preamble : 0, range.end);
        walker_.seek(std::max(range.begin, preamble), range.records, machine.exact(range.state));
    }

    // Call this for cuts in ascending order.
    Boundary find(const RangeCut& cut) {
        const bool is_nth = cut.search == RangeCut::Search::kNth;
        for (;;) {
            for (; word_ < starts_.size(); bits_ = ++word_ < starts_.size() ? starts_[word_] : 0) {
                for (; bits_ != 0; bits_ &= bits_ - 1, ++record_) {
                    const std::uint64_t offset = from_ + word_ * kStepSize + first_bit(bits_);
                    const bool is_there = is_nth ? record_ == cut.records + cut.target : offset >= cut.target;
                    if (is_there) return {offset, record_};
                }
            }
            walk_on(cut);
        }
    }

private:
    // The lead that the range begins in or with.
    static Lead lead_of_range(const Blob& blob, const Dialect& dialect, const RangeCut& range) {
        std::vector<std::uint8_t> buffer;
        const bool may_have = range.state >= RangeState::kStart && range.state <= RangeState::kMark2;
        constexpr std::uint64_t kSize = 3;
        if (!may_have || range.end < kSize) return {};
        return lead_of(blob.lend(0, kSize, buffer), dialect);
    }

    void walk_on(const RangeCut& cut) {
        from_ = walker_.offset();
        record_ = walker_.records();
        if (from_ >= cut.end) throw InputChangedError();
        constexpr std::uint64_t kPartSize = std::uint64_t{256} << 10;
        const auto size = static_cast<std::size_t>(std::min(cut.end - from_, kPartSize));
        starts_ = walker_.walk(blob_.lend(from_, size, buffer_));
        word_ = 0;
        bits_ = starts_.front();
    }

    const Blob& blob_;
    Walker walker_;
    std::span<const std::uint64_t> starts_;  // of the part that was walked last
    std::uint64_t from_ = 0;                 // where that part begins
    std::uint64_t record_ = 0;               // the number of the next start in that part
    std::size_t word_ = 0;
    std::uint64_t bits_ = 0;
    std::vector<std::uint8_t> buffer_;
};

}  // namespace

std::vector<Boundary> find_cuts(const Blob& blob, const Dialect& dialect, std::span<const RangeCut> cuts,
                                const Execution& execution, const Cancellation* cancellation) {
    const Kernel& kernel = checked_kernel(execution);
    std::vector<Boundary> found(cuts.size());
    std::vector<std::size_t> groups;  // for each range, the first of its cuts
    for (std::size_t i = 0; i < cuts.size(); ++i) {
        const RangeCut& cut = cuts[i];
        if (cut.search == RangeCut::Search::kNone) {
            found[i] = {cut.target, cut.records};
        } else {
            if (cut.begin > cut.end || cut.end > blob.size()) throw InputChangedError();
            const bool is_next = !groups.empty() && cuts[groups.back()].begin == cut.begin;
            if (!is_next) groups.push_back(i);
        }
    }
    parallel_for(groups.size(), execution.thread_count(), [&](std::size_t group) {
        const std::size_t end = group + 1 < groups.size() ? groups[group + 1] : cuts.size();
        CutFinder finder(blob, dialect, kernel, cuts[groups[group]]);
        for (std::size_t i = groups[group]; i < end; ++i) {
            if (cuts[i].search == RangeCut::Search::kNone) continue;
            if (cancellation != nullptr) cancellation->throw_if_requested();
            found[i] = finder.find(cuts[i]);
        }
        blob.throw_if_lost();
    });
    return found;
}

}  // namespace cleave
