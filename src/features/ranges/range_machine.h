// Reads a range one byte at a time, as two readers would that have read the input from its start: one in the dialect's
// quote mode and one in the other mode. RangeState lists the states in which such a reader can be.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cleave/dialect.h"
#include "cleave/experimental/range_summary.h"
#include "core/dialect/state_machine.h"

namespace cleave {

constexpr bool is_exact(RangeState state) { return static_cast<std::size_t>(state) < kExactStateCount; }
constexpr RangeState range_state(State state) { return static_cast<RangeState>(state); }

constexpr bool is_empty_so_far(RangeState state) {
    return state >= RangeState::kEmptyAfterMark && state <= RangeState::kEmptyCarriageReturn;
}
// The state of a reader that is in `state` and has so far seen nothing but CR, LF and perhaps a byte order mark. kNone
// if `state` cannot follow such bytes.
RangeState empty_state(State state);

// Whether a quoted section is open in this state, or would be open if a quote followed.
constexpr bool may_be_open(State state) { return is_quoted(state) || state == State::kQuoteInQuoted; }

// Immutable, so it can be used from any thread.
class RangeMachine {
public:
    explicit RangeMachine(const Dialect& dialect);

    const Dialect& dialect() const { return dialect_; }

    // The exact state of a reader, assuming that the bytes so far are not the beginning of a byte order mark.
    State exact(RangeState state) const { return exact(own_, state); }
    State exact_by_other(RangeState state) const { return exact(other_, state); }

    // Maps states that behave the same from here on to one of them. Without quotes, kFieldStart behaves like kUnquoted.
    State settled(State state) const {
        return !dialect_.quote && state == State::kFieldStart ? State::kUnquoted : state;
    }

    // Returns what the bytes [begin, begin + bytes.size()) of the input do to a reader, for each state in which it can
    // enter them. In the rows of the other states, `exit` is kNone.
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
    std::array<bool, kRangeStateCount> reachable_{};                  // in the dialect's quote mode
    std::vector<std::pair<RangeState, RangeState>> reachable_pairs_;  // while both modes start the same records
};

}  // namespace cleave
