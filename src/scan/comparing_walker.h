// Walks bytes by the dialect's quote rule, and finds where the other quote rule first starts other records:
//
//   while nothing is suspect, both rules read alike: the kernel marks for both at once;
//   from a suspect step on, a walker for each rule takes the bytes, until both are in one state again;
//   where their record starts differ, the comparison is over.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "cleave/input.h"
#include "scan/walker.h"

namespace cleave {

// Whether both rules find the same records from here to the next suspect byte.
constexpr bool agree(State one, State other) {
    return is_quoted(one) == is_quoted(other) && is_escape(one) == is_escape(other) &&
           is_past_record(one) == is_past_record(other);
}

// The dialect with the other quote rule.
Dialect by_other_rule(Dialect dialect);

// For one thread at a time.
class ComparingWalker final : public Walker {
public:
    // As Walker. The records are those of the dialect's own rule.
    ComparingWalker(const Dialect& dialect, const Kernel& kernel, const Lead& lead = {});

    // Whether the rules are in different states, but have not cut differently yet. Then seek() must not be called.
    bool apart() const { return apart_; }
    // Where they came apart. Set when walk() or pass() returns.
    const std::optional<Place>& parted() const { return parted_; }
    // Whether the rules have not cut differently so far.
    bool compares() const { return !divergence_; }
    // Whether suspect bytes matter: a summary may be wrong there, or the two rules may come apart.
    bool heeds_suspects() const;

    // Goes to a place where the rules agree, and forgets that they have cut differently.
    void compare_from(std::uint64_t offset, std::uint64_t records, State state);

    // The same from a place where the rules may be apart. If they do not agree, they came apart at `parted`.
    void compare_from(std::uint64_t offset, State own, State other, std::uint64_t parted);
    // From here on the walk is by the dialect's own rule alone.
    void stop_comparing() { divergence_ = Place{}; }
    // The state by the other rule, as long as the rules are compared.
    State other_state() const { return apart_ ? other_.state() : state(); }
    const std::optional<Place>& divergence() const { return divergence_; }

    // The findings as if the bytes so far were the whole input, without header_records. The place of an open quote is
    // right only if the walk has passed that quote.
    Findings findings() const;

private:
    std::size_t advance(std::span<const std::uint8_t> bytes, std::uint64_t* starts) override;
    void find_parting();

    Walker other_;  // by the other rule; moves only while the rules are apart
    bool apart_ = false;
    std::size_t stretch_size_;  // while apart, the rules are compared after this many bytes
    std::optional<Place> parted_;
    std::optional<Place> divergence_;
    // The bytes of this call that were walked since the rules last agreed, and the two positions before them.
    std::span<const std::uint8_t> trail_;
    Position before_{};
    Position other_before_{};
};

// At the start of an input that is to be read from front to back. Throws InputError as refuse_foreign(), what
// Input::peek() throws, and std::invalid_argument for a dialect with a fault or a bad execution.
ComparingWalker walker_of(Input& input, const Dialect& dialect, const Execution& execution);

}  // namespace cleave
