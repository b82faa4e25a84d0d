// The readers of a range, a byte at a time: a reader by the dialect's quote rule and one by the other, from the start
// of the input on. RangeState says where such a reader may stand.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cleave/dialect.h"
#include "cleave/range_summary.h"
#include "dialect/state_machine.h"

namespace cleave {

constexpr bool is_exact(RangeState state) { return static_cast<std::size_t>(state) < kExactStateCount; }
constexpr RangeState range_state(State state) { return static_cast<RangeState>(state); }

constexpr bool is_empty_so_far(RangeState state) {
    return state >= RangeState::kEmptyAfterMark && state <= RangeState::kEmptyCarriageReturn;
}
// The state past the same bytes, of which all but a byte order mark are CR and LF. kNone if that cannot be.
RangeState empty_state(State state);

// Whether a section is open in that state, or would be if a quote followed.
constexpr bool may_be_open(State state) { return is_quoted(state) || state == State::kQuoteInQuoted; }

// Immutable, any thread.
class RangeMachine {
public:
    explicit RangeMachine(const Dialect& dialect);

    const Dialect& dialect() const { return dialect_; }

    // The state of the reader if the bytes so far are no byte order mark.
    State exact(RangeState state) const { return exact(own_, state); }
    State exact_by_other(RangeState state) const { return exact(other_, state); }

    // Of states that differ in nothing that is to come, the same one: without quotes, a field may as well have begun.
    State settled(State state) const {
        return !dialect_.quote && state == State::kFieldStart ? State::kUnquoted : state;
    }

    // What the bytes [begin, begin + bytes.size()) of the input do, from all states in which they can be entered. In
    // the others the rows lead to kNone.
    RangeSummary summarise(std::span<const std::uint8_t> bytes, std::uint64_t begin) const;

private:
    struct Step {
        RangeState next;
        bool starts_record;
        bool opens_quote;
    };

    static State exact(const StateMachine& machine, RangeState state);
    Step step(const StateMachine& machine, RangeState state, std::uint8_t byte) const;
    bool is_reachable(RangeState state) const { return reachable_[static_cast<std::size_t>(state)]; }
    std::uint64_t preamble_size_in(std::span<const std::uint8_t> bytes, std::uint64_t begin) const;
    bool can_enter(RangeState state, std::uint64_t begin) const;
    void find_reachable();
    RangeRow follow(RangeState from, std::span<const std::uint8_t> bytes, std::uint64_t begin) const;
    RulesRow compare(RangeState own, RangeState other, std::span<const std::uint8_t> bytes, std::uint64_t begin) const;

    Dialect dialect_;
    StateMachine own_;
    StateMachine other_;
    std::array<bool, kRangeStateCount> reachable_{};                  // by the dialect's rule
    std::vector<std::pair<RangeState, RangeState>> reachable_pairs_;  // while the rules do not differ
};

}  // namespace cleave
