#include "features/ranges/range_machine.h"

#include <algorithm>

#include "base/text_bytes.h"
#include "core/scan/comparing_walker.h"

namespace cleave {
namespace {

constexpr std::array<std::uint8_t, 3> kMark = {0xEF, 0xBB, 0xBF};  // the byte order mark

}  // namespace

RangeState empty_state(State state) {
    switch (state) {
        case State::kRecordStart: return RangeState::kEmptyRecordStart;
        case State::kUnquoted: return RangeState::kEmptyUnquoted;
        case State::kCarriageReturn: return RangeState::kEmptyCarriageReturn;
        default: return RangeState::kNone;
    }
}

RangeMachine::RangeMachine(const Dialect& dialect) : dialect_(dialect), own_(dialect), other_(by_other_rule(dialect)) {
    find_reachable();
}

State RangeMachine::exact(const StateMachine& machine, RangeState state) {
    const State past_one = machine.step(State::kFieldStart, kMark[0]).next;
    switch (state) {
        case RangeState::kMark1: return past_one;
        case RangeState::kMark2: return machine.step(past_one, kMark[1]).next;
        case RangeState::kEmptyAfterMark: return State::kFieldStart;
        case RangeState::kStart:  // a record starts at the next byte
        case RangeState::kEmptyRecordStart: return State::kRecordStart;
        case RangeState::kEmptyUnquoted: return State::kUnquoted;
        case RangeState::kEmptyCarriageReturn: return State::kCarriageReturn;
        default: return static_cast<State>(state);
    }
}

RangeMachine::Step RangeMachine::step(const StateMachine& machine, RangeState state, std::uint8_t byte) const {
    const Transition transition = machine.step(exact(machine, state), byte);
    Step step{range_state(settled(transition.next)), transition.starts_record, transition.opens_quote};
    const bool finds_header = dialect_.header == HeaderRecord::kFirstNotEmpty;
    if (state == RangeState::kStart && byte == kMark[0] && dialect_.preamble == 0) {
        step.next = RangeState::kMark1;
    } else if (state == RangeState::kMark1 && byte == kMark[1]) {
        step.next = RangeState::kMark2;
    } else if (state == RangeState::kMark2 && byte == kMark[2]) {
        step = {finds_header ? RangeState::kEmptyAfterMark : range_state(settled(State::kFieldStart)), false, false};
    } else if (is_line_break(byte) && ((state == RangeState::kStart && finds_header) || is_empty_so_far(state))) {
        step.next = empty_state(transition.next);
    }
    return step;
}

// Walks the graph of the states, once in the dialect's quote mode alone and once in both modes. All bytes without a
// role behave the same way, so one of them is enough.
void RangeMachine::find_reachable() {
    std::vector<std::uint8_t> bytes = {'\r', '\n', dialect_.delimiter, kMark[0], kMark[1], kMark[2]};
    if (dialect_.quote) bytes.push_back(*dialect_.quote);
    if (dialect_.escape) bytes.push_back(*dialect_.escape);
    std::uint8_t plain = 0;
    while (std::ranges::find(bytes, plain) != bytes.end()) ++plain;
    bytes.push_back(plain);
    std::vector<RangeState> todo = {RangeState::kStart};
    reachable_[static_cast<std::size_t>(RangeState::kStart)] = true;
    while (!todo.empty()) {
        const RangeState from = todo.back();
        todo.pop_back();
        for (const std::uint8_t byte : bytes) {
            const RangeState next = step(own_, from, byte).next;
            bool& is_known = reachable_[static_cast<std::size_t>(next)];
            if (!std::exchange(is_known, true)) todo.push_back(next);
        }
    }
    reachable_pairs_ = {{RangeState::kStart, RangeState::kStart}};
    for (std::size_t i = 0; i < reachable_pairs_.size(); ++i) {
        const auto [own, other] = reachable_pairs_[i];
        for (const std::uint8_t byte : bytes) {
            const Step by_own = step(own_, own, byte);
            const Step by_other = step(other_, other, byte);
            if (by_own.starts_record != by_other.starts_record) continue;
            const std::pair pair(by_own.next, by_other.next);
            if (std::ranges::find(reachable_pairs_, pair) == reachable_pairs_.end()) reachable_pairs_.push_back(pair);
        }
    }
}

// Whether a reader can be in the state after the first `begin` bytes of the input.
bool RangeMachine::can_enter(RangeState state, std::uint64_t begin) const {
    switch (state) {
        case RangeState::kStart: return begin <= dialect_.preamble;
        case RangeState::kMark1: return begin == 1 && is_reachable(state);
        case RangeState::kMark2: return begin == 2 && is_reachable(state);
        case RangeState::kEmptyAfterMark: return begin == kMark.size() && is_reachable(state);
        default: return begin > dialect_.preamble && is_reachable(state);
    }
}

// How many of the bytes belong to the preamble. These bytes come first.
std::uint64_t RangeMachine::preamble_size_in(std::span<const std::uint8_t> bytes, std::uint64_t begin) const {
    return std::min<std::uint64_t>(bytes.size(), dialect_.preamble - std::min(begin, dialect_.preamble));
}

RangeSummary RangeMachine::summarise(std::span<const std::uint8_t> bytes, std::uint64_t begin) const {
    RangeSummary summary;
    summary.begin = begin;
    summary.end = begin + bytes.size();
    summary.dialect = dialect_;
    for (std::size_t i = 0; i < kRangeStateCount; ++i) {
        const auto state = static_cast<RangeState>(i);
        if (can_enter(state, begin)) summary.row(state) = follow(state, bytes, begin);
    }
    for (const auto& [own, other] : reachable_pairs_) {
        if (can_enter(own, begin)) summary.row(own, other) = compare(own, other, bytes, begin);
    }
    return summary;
}

RangeRow RangeMachine::follow(RangeState from, std::span<const std::uint8_t> bytes, std::uint64_t begin) const {
    RangeRow row;
    row.exit = from;
    row.open = kBeforeRange;
    const std::uint64_t skipped = preamble_size_in(bytes, begin);
    std::uint64_t offset = begin + skipped;
    for (const std::uint8_t byte : bytes.subspan(skipped)) {
        const Step step = this->step(own_, row.exit, byte);
        if (step.starts_record) {
            if (row.first == kNoOffset && row.exit != RangeState::kStart) row.first = offset;
            if (row.header == kNoOffset && is_exact(row.exit)) {
                row.header = offset;
                row.header_records = row.records;
            }
            row.last = offset;
            ++row.records;
        }
        if (step.opens_quote) row.open = offset;
        row.exit = step.next;
        ++offset;
    }
    if (!may_be_open(exact(row.exit))) row.open = kNoOffset;
    return row;
}

RulesRow RangeMachine::compare(RangeState own, RangeState other, std::span<const std::uint8_t> bytes,
                               std::uint64_t begin) const {
    RulesRow row;
    row.parted = agree(exact(own), exact_by_other(other)) ? kNoOffset : kBeforeRange;
    std::uint64_t records = 0;
    const std::uint64_t skipped = preamble_size_in(bytes, begin);
    std::uint64_t offset = begin + skipped;
    for (const std::uint8_t byte : bytes.subspan(skipped)) {
        const Step by_own = step(own_, own, byte);
        const Step by_other = step(other_, other, byte);
        if (by_own.starts_record != by_other.starts_record) {
            row.differ = true;
            row.records = records;
            return row;
        }
        records += by_own.starts_record ? 1 : 0;
        own = by_own.next;
        other = by_other.next;
        if (agree(exact(own), exact_by_other(other))) {
            row.parted = kNoOffset;
        } else if (row.parted == kNoOffset) {
            row.parted = offset;
        }
        ++offset;
    }
    row.exit = other;
    return row;
}

}  // namespace cleave
