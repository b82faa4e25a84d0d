// Summarises a range. The idea: readers that enter the range in different states are soon in the same state, and from
// then on continue as one.
//
//   sum = the first bytes, read by the exact machine from every state
//   across all threads: summarise the blocks, once as if each began outside quotes, once as if inside
//   for each block, in order:
//       for each state that a reader of `sum` is in: get its row of the block from the summary; or from a walk, if
//       that state is not the one that the bytes before the block suggest, or if the block is suspect from that state
//       sum = compose(sum, these rows)
//   find the first and last record starts and the open quotes of the rows
//
// In field-start mode, a reader that is wrong about quotes is right again after a few of them, and in input without
// quotes no block is suspect. So most blocks have one or two rows, which come from the block's summary, and a range
// costs one scan. The summary of a block does not say where in the block a record starts. Such offsets are found at the
// end, by walking the few blocks in question.
//
// If the range begins inside a long quoted field, a reader that is wrong about this finds quotes in unquoted fields,
// and all its blocks are suspect. So the workers rescan these blocks both from outside and from inside quotes, and the
// walks above skip nearly all of each block. Once only one of the two readers is left, half of that work is wasted. So
// blocks are processed in batches that grow: then the wasted rescans never cost much more than the necessary ones.
#include <algorithm>
#include <optional>
#include <vector>

#include "cleave/error.h"
#include "cleave/experimental/range_summary.h"
#include "cleave/foreign.h"
#include "core/dialect/check_arguments.h"
#include "core/kernels/markup.h"
#include "core/scan/block_summariser.h"
#include "core/scan/carry.h"
#include "core/scan/check_arguments.h"
#include "core/scan/comparing_walker.h"
#include "features/ranges/range_machine.h"
#include "features/ranges/range_notes.h"

namespace cleave {
namespace {

constexpr std::size_t kExactSize = 256;     // how many bytes are read from every state
constexpr std::size_t kLeastExactSize = 4;  // enough to get past a byte order mark, wherever in it the range begins
constexpr std::size_t kWalkedSize = std::size_t{64} << 10;  // most of the remaining walks have met by here
constexpr std::size_t kFirstBatch = 16;                     // in blocks; at least 4 for each thread
constexpr std::uint64_t kMaxEnd = std::uint64_t{1} << 58;

// Stands for an offset that is not yet known: a walk from `state` will find it in the segment that begins at `begin`,
// counted from the start of the range.
struct Sought {
    std::uint64_t begin;
    State state;
};
constexpr std::uint64_t kSought = std::uint64_t{1} << 63;
constexpr std::uint64_t encode(const Sought& sought) {
    return kSought | sought.begin << 3 | static_cast<std::uint64_t>(sought.state);
}
std::optional<Sought> decode(std::uint64_t offset) {
    if (offset < kSought || offset == kNoOffset || offset == kBeforeRange) return std::nullopt;
    return Sought{(offset & ~kSought) >> 3, static_cast<State>(offset & 7)};
}

// A part of the range, and what is known about it.
struct Segment {
    std::uint64_t begin;  // counted from the start of the range
    std::uint64_t end;
    const BlockReport* report;   // null if the segment is walked
    std::optional<Carry> after;  // the carry at its end, with `inside` 0; set if there is a report that knows it
};

using Bytes = std::span<const std::uint8_t>;

class RangeScan {
public:
    RangeScan(const Blob& blob, std::uint64_t begin, const Dialect& dialect, const Execution& execution,
              const Cancellation* cancellation)
        : blob_(blob),
          begin_(begin),
          dialect_(dialect),
          execution_(execution),
          kernel_(*execution.kernel),
          cancellation_(cancellation),
          machine_(dialect),
          comparing_(dialect, kernel_) {}

    RangeSummary run();

private:
    void take_blocks();
    bool walks_both_ways() const;
    void take(const Segment& segment);
    Segment block(std::size_t number) const;
    void add_row(const Segment& segment, State state, bool is_compared, RangeSummary& rows);
    bool add_row_by_summary(const Segment& segment, State state, bool is_compared, RangeSummary& rows) const;
    void add_rules(const Segment& segment, State own, State other, RangeSummary& rows);
    void add_empty_row(const Segment& segment, RangeState state, RangeSummary& rows);
    RulesRow compared() const;
    template <class Find>
    std::uint64_t find(std::uint64_t offset, const Find& find_in);
    std::uint64_t segment_end(std::uint64_t begin) const;
    std::size_t number_of(const Segment& segment) const {
        return static_cast<std::size_t>(segment.begin / execution_.block_size);
    }
    std::span<const std::uint8_t> lend(std::uint64_t begin, std::uint64_t end) {
        return blob_.lend(begin, static_cast<std::size_t>(end - begin), buffer_);
    }

    const Blob& blob_;
    std::uint64_t begin_;
    const Dialect& dialect_;
    const Execution& execution_;
    const Kernel& kernel_;
    const Cancellation* cancellation_;
    RangeMachine machine_;
    ComparingWalker comparing_;
    // The segments are [0, exact_end_), [exact_end_, walked_end_), from there to the next block boundary, and the
    // blocks after it.
    std::uint64_t exact_end_ = 0;
    std::uint64_t walked_end_ = 0;
    std::vector<BlockReport> blocks_;
    std::size_t reported_end_ = 0;  // all blocks before this one have reports
    RangeNotes notes_;
    RangeSummary sum_;
    std::vector<std::uint8_t> buffer_;
};

std::uint64_t RangeScan::segment_end(std::uint64_t begin) const {
    if (begin < walked_end_) return walked_end_;
    return std::min<std::uint64_t>((begin / execution_.block_size + 1) * execution_.block_size, blob_.size());
}

template <class Find>
std::uint64_t RangeScan::find(std::uint64_t offset, const Find& find_in) {
    const auto sought = decode(offset);
    if (!sought) return offset;
    Walker walker(dialect_, kernel_);
    walker.seek(sought->begin, 0, sought->state);
    const auto found = find_in(walker, lend(sought->begin, segment_end(sought->begin)));
    if (!found) throw InputChangedError();
    return begin_ + sought->begin + *found;
}

RangeSummary RangeScan::run() {
    const std::uint64_t size = blob_.size();
    const std::size_t block_size = execution_.block_size;
    const std::uint64_t preamble = dialect_.preamble - std::min(begin_, dialect_.preamble);
    exact_end_ = std::min<std::uint64_t>(size, preamble + std::clamp(block_size, kLeastExactSize, kExactSize));
    walked_end_ = std::min<std::uint64_t>(size, std::max<std::uint64_t>(exact_end_, std::min(block_size, kWalkedSize)));
    sum_ = machine_.summarise(lend(0, exact_end_), begin_);
    if (exact_end_ < walked_end_) take({exact_end_, walked_end_, nullptr, std::nullopt});
    if (execution_.meter != nullptr) execution_.meter->scanned += walked_end_;
    if (walked_end_ < size) take_blocks();
    blob_.throw_if_lost();
    const auto last_in = [](Walker& walker, Bytes bytes) { return Walker::last_of(walker.walk(bytes)); };
    const auto open_in = [](Walker& walker, Bytes bytes) {
        const std::uint64_t begin = walker.offset();
        walker.pass(bytes);
        return walker.open_end() == 0 ? std::nullopt : std::optional(walker.open_end() - 1 - begin);
    };
    for (RangeRow& row : sum_.states) {
        row.first = find(row.first, FirstStarts::first_start);
        row.header = find(row.header, FirstStarts::first_start);
        row.last = find(row.last, last_in);
        row.open = find(row.open, open_in);
    }
    blob_.throw_if_lost();
    return sum_;
}

// Block 0 begins with the bytes that are walked. This summarises the rest of the block in which they end.
void RangeScan::take_blocks() {
    const std::uint64_t size = blob_.size();
    const std::size_t block_size = execution_.block_size;
    blocks_.resize((size + block_size - 1) / block_size);
    notes_.resize(blocks_.size());
    auto next = static_cast<std::size_t>(walked_end_ / block_size);
    if (walked_end_ % block_size != 0) {
        const std::uint64_t end = segment_end(walked_end_);
        const std::uint64_t from = walked_end_ - std::min<std::uint64_t>(walked_end_, kLookBack);
        const auto bytes = lend(from, end);
        blocks_[next].summarised = summarise_block(bytes, 0, walked_end_ - from, bytes.size(), dialect_, kernel_);
        if (execution_.meter != nullptr) execution_.meter->scanned += end - walked_end_;
        reported_end_ = next + 1;
        take(block(next++));
    }
    const BlockedInput input{blob_, size, {}, dialect_, execution_, cancellation_};
    std::size_t batch = std::max<std::size_t>(kFirstBatch, std::size_t{4} * execution_.thread_count());
    for (; next < blocks_.size(); batch *= 2) {
        const bool both_ways = walks_both_ways();
        notes_.rescan_both(both_ways);
        reported_end_ = both_ways ? std::min(next + batch, blocks_.size()) : blocks_.size();
        notes_.summarise(input, next, std::span(blocks_).subspan(next, reported_end_ - next));
        for (; next < reported_end_; ++next) {
            if (cancellation_ != nullptr) cancellation_->throw_if_requested();
            take(block(next));
        }
    }
}

// Whether suspect blocks may have to be walked both from outside and from inside quotes.
bool RangeScan::walks_both_ways() const {
    std::array<bool, 2> walks{};
    const bool heeds_suspects = dialect_.quoting == Quoting::kFieldStart || escape_use(dialect_) == EscapeUse::kQuoted;
    for (std::size_t i = 0; i < kRangeStateCount; ++i) {
        const auto state = static_cast<RangeState>(i);
        const RangeState exit = sum_.row(state).exit;
        if (exit == RangeState::kNone) continue;
        const bool is_compared = sum_.row(state, state).exit == exit;
        if (heeds_suspects || is_compared) walks[is_quoted(machine_.exact(exit)) ? 1 : 0] = true;
    }
    return walks[0] && walks[1];
}

Segment RangeScan::block(std::size_t number) const {
    const std::uint64_t begin = std::max<std::uint64_t>(number * execution_.block_size, walked_end_);
    Segment segment{begin, segment_end(begin), &blocks_[number], std::nullopt};
    if (!segment.report->summarised.well_known) return segment;
    if (number + 1 < reported_end_) {
        segment.after = blocks_[number + 1].summarised.before;
    } else {
        std::vector<std::uint8_t> buffer;
        const std::uint64_t size = segment.end - begin + std::min<std::uint64_t>(begin, kLookBack);
        const std::uint64_t looked = std::min<std::uint64_t>(size, kLookBack);
        const auto bytes = blob_.lend(segment.end - looked, static_cast<std::size_t>(looked), buffer);
        segment.after = local_carry(bytes, 0, bytes.size(), dialect_);
    }
    return segment;
}

// Composes `sum_` with the rows of the segment that its readers reach.
void RangeScan::take(const Segment& segment) {
    RangeSummary rows;
    rows.begin = begin_ + segment.begin;
    rows.end = begin_ + segment.end;
    rows.dialect = dialect_;
    std::array<bool, kRangeStateCount> own{};
    std::array<bool, kExactStateCount * kExactStateCount> pairs{};
    const auto need_pair = [&](RangeState state, RangeState other) {
        pairs[RangeSummary::index_of(state, other)] = true;
    };
    for (const RangeRow& row : sum_.states) {
        if (row.exit == RangeState::kNone) continue;
        own[static_cast<std::size_t>(row.exit)] = true;
        if (is_exact(row.exit)) continue;
        const RangeState exact = range_state(machine_.exact(row.exit));
        own[static_cast<std::size_t>(exact)] = true;
        need_pair(exact, exact);
    }
    for (std::size_t i = 0; i < sum_.rules.size(); ++i) {
        constexpr std::size_t kPairs = kExactStateCount * kExactStateCount;
        const RangeState other = sum_.rules[i].exit;
        if (other == RangeState::kNone || !is_exact(other)) continue;
        need_pair(sum_.states[i < kPairs ? i / kExactStateCount : i - kPairs + kExactStateCount].exit, other);
    }
    for (std::size_t i = 0; i < kExactStateCount; ++i) {
        if (own[i]) add_row(segment, static_cast<State>(i), pairs[i * kExactStateCount + i], rows);
        for (std::size_t j = 0; j < kExactStateCount; ++j) {
            if (i != j && pairs[i * kExactStateCount + j]) {
                add_rules(segment, static_cast<State>(i), static_cast<State>(j), rows);
            }
        }
    }
    for (std::size_t i = kExactStateCount; i < kRangeStateCount; ++i) {
        if (own[i]) add_empty_row(segment, static_cast<RangeState>(i), rows);
    }
    sum_ = compose(sum_, rows);
}

// Adds the row of a reader that enters in `state`. With `is_compared`, compares it with a reader that enters in the
// same state but reads in the other quote mode.
void RangeScan::add_row(const Segment& segment, State state, bool is_compared, RangeSummary& rows) {
    if (add_row_by_summary(segment, state, is_compared, rows)) return;
    comparing_.compare_from(segment.begin, state, state, kBeforeRange);
    if (!is_compared) comparing_.stop_comparing();
    const auto bytes = lend(segment.begin, segment.end);
    const bool has_rescan = segment.report != nullptr && segment.begin % execution_.block_size == 0;
    pass_by(comparing_, bytes,
            has_rescan ? notes_.rescan(number_of(segment), *segment.report, is_quoted(state)) : Rescan{});
    RangeRow row;
    row.records = comparing_.records();
    row.exit = range_state(machine_.settled(comparing_.state()));
    if (row.records > 0) row.first = row.header = row.last = encode({segment.begin, state});
    if (may_be_open(comparing_.state())) {
        row.open = comparing_.open_end() == 0 ? kBeforeRange : begin_ + comparing_.open_end() - 1;
    }
    rows.row(range_state(state)) = row;
    if (is_compared) rows.row(range_state(state), range_state(state)) = compared();
}

// The result of a walk that compares the quote modes.
RulesRow RangeScan::compared() const {
    const auto absolute = [&](const Place& place) {
        return place.offset == kBeforeRange ? kBeforeRange : begin_ + place.offset;
    };
    RulesRow row;
    if (const auto& divergence = comparing_.divergence()) {
        row.differ = true;
        row.parted = absolute(*divergence);
        row.records = row.parted == kBeforeRange ? 0 : divergence->record + 1;
        return row;
    }
    row.exit = range_state(machine_.settled(comparing_.other_state()));
    if (const auto& parted = comparing_.parted()) row.parted = absolute(*parted);
    return row;
}

// Adds the row on the basis of the block's summary. Returns false if the summary is not enough.
bool RangeScan::add_row_by_summary(const Segment& segment, State state, bool is_compared, RangeSummary& rows) const {
    if (segment.report == nullptr || !segment.after) return false;
    const SummarisedBlock& block = segment.report->summarised;
    const std::size_t inside = is_quoted(state) ? 1 : 0;
    Carry before = block.before;
    before.inside = static_cast<std::uint8_t>(inside);
    if (machine_.settled(state_of(before, dialect_.escape_scope)) != state) return false;
    const bool heeds_suspects =
        is_compared || dialect_.quoting == Quoting::kFieldStart || escape_use(dialect_) == EscapeUse::kQuoted;
    if (heeds_suspects && block.summary.suspect[inside] != 0) return false;
    Carry after = *segment.after;
    after.inside = static_cast<std::uint8_t>(inside ^ block.summary.flips);
    const State exit = machine_.settled(state_of(after, dialect_.escape_scope));
    RangeRow row;
    row.records = block.summary.records[inside];
    row.exit = range_state(exit);
    const std::uint64_t here = encode({segment.begin, state});
    if (row.records > 0) row.first = row.header = row.last = here;
    if (may_be_open(exit)) {
        const bool opens_here = row.records > 0 || (inside == 0 && state != State::kQuoteInQuoted);
        const auto& open = notes_.open_quote(number_of(segment));
        const bool is_noted = inside == 1 && is_quoted(exit) && open;
        if (!opens_here && !is_noted) return false;
        const auto noted = [&] { return *open == kBeforeRange ? kBeforeRange : begin_ + *open; };
        row.open = opens_here ? here : noted();
    }
    rows.row(range_state(state)) = row;
    if (is_compared) rows.row(range_state(state), range_state(state)).exit = row.exit;
    return true;
}

// Compares two readers in different states. Usually they differ at the next record start.
void RangeScan::add_rules(const Segment& segment, State own, State other, RangeSummary& rows) {
    constexpr std::uint64_t kPartSize = std::uint64_t{64} << 10;
    comparing_.compare_from(segment.begin, own, other, kBeforeRange);
    for (std::uint64_t at = segment.begin; at < segment.end && comparing_.compares(); at = comparing_.offset()) {
        comparing_.pass(lend(at, std::min(segment.end, at + kPartSize)));
    }
    rows.row(range_state(own), range_state(other)) = compared();
}

// Adds the row of a reader that has seen nothing but line breaks. Precondition: `rows` already contains the rows of its
// exact state.
void RangeScan::add_empty_row(const Segment& segment, RangeState state, RangeSummary& rows) {
    const State exact = machine_.exact(state);
    const auto bytes = lend(segment.begin, segment.end);
    const auto content = std::ranges::find_if(bytes, [](std::uint8_t byte) { return byte != '\r' && byte != '\n'; });
    RangeRow row = rows.row(range_state(exact));
    RulesRow rules = rows.row(range_state(exact), range_state(exact));
    row.header = kNoOffset;
    if (content == bytes.end()) {
        row.exit = rules.exit = empty_state(static_cast<State>(row.exit));
    } else {
        Walker walker(dialect_, kernel_);
        walker.seek(segment.begin, 0, exact);
        const auto empty = static_cast<std::size_t>(content - bytes.begin()) + 1;
        walker.pass(bytes.first(empty));
        const std::uint64_t records = walker.records();
        if (const auto start = FirstStarts::first_start(walker, bytes.subspan(empty))) {
            row.header = begin_ + segment.begin + empty + *start;
            row.header_records = records;
        }
    }
    rows.row(state) = row;
    rows.row(state, state) = rules;
}

}  // namespace

RangeSummary summarise_range(const Blob& blob, std::uint64_t begin, const Dialect& dialect, const Execution& execution,
                             const Cancellation* cancellation) {
    checked(dialect);
    Execution with_kernel = execution;
    with_kernel.kernel = &checked_kernel(execution);
    if (begin > kMaxEnd || blob.size() > kMaxEnd - begin) throw ArgumentError("range: it ends too far");
    if (begin == 0) {
        std::vector<std::uint8_t> buffer;
        refuse_foreign(
            blob.lend(0, static_cast<std::size_t>(std::min<std::uint64_t>(blob.size(), kSniffSize)), buffer));
    }
    return RangeScan(blob, begin, dialect, with_kernel, cancellation).run();
}

RangeSummary summarise_range(std::span<const std::uint8_t> bytes, std::uint64_t begin, const Dialect& dialect,
                             const Execution& execution, const Cancellation* cancellation) {
    return summarise_range(MemoryBlob(bytes), begin, dialect, execution, cancellation);
}

}  // namespace cleave
