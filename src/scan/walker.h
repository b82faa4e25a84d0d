// Reads bytes in order with the true state known: the kernel marks the record starts, and the state machine takes over
// for the steps that the kernel finds suspect.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cleave/dialect.h"
#include "cleave/error.h"
#include "cleave/kernel.h"
#include "cleave/scan.h"
#include "dialect/state_machine.h"
#include "kernels/kernel.h"

namespace cleave {

// For one thread at a time. Memory: 12 KiB, and an eighth of a byte for each byte of the
// longest walk().
class Walker {
public:
    // At the start of an input that begins with `bom` bytes of byte order mark. `kernel` must outlive the walker. With
    // `compare_rules` it also follows the other quote rule until the two cut differently.
    Walker(const Dialect& dialect, const Kernel& kernel, std::uint64_t bom, bool compare_rules);

    // Where a walk stands, and all it needs to go on from there.
    struct Position {
        std::uint64_t offset;
        std::uint64_t records;       // that start before offset
        State field_start;           // the states by the two rules. Where only one is followed, or they agree, the
        State anywhere;              // second is as the first
        std::optional<Place> since;  // where the rules parted, while they are apart
    };
    Position position() const;
    void seek(const Position& position);
    // The rules agree there.
    void seek(std::uint64_t offset, std::uint64_t records, State state);

    // Takes the next bytes and returns their record starts: bit i % 64 of word i / 64 is set if a record starts at
    // bytes[i]; bits past the end are 0. The words are valid until the next call.
    std::span<const std::uint64_t> walk(std::span<const std::uint8_t> bytes);

    // The same without the record starts.
    void pass(std::span<const std::uint8_t> bytes);

    std::uint64_t offset() const { return offset_; }
    std::uint64_t records() const { return progress_.records; }  // that start before offset()
    State state() const;

    // The two rules have read the last bytes differently, and it is not yet known whether they will cut differently.
    bool apart() const { return progress_.apart != 0; }
    // Both rules are followed: they have not cut differently so far.
    bool compares() const { return rules_ == Rules::kBoth; }
    // Follows both again, from the next seek() on.
    void compare_rules() { rules_ = Rules::kBoth; }
    // Suspect bytes matter: a summary may be wrong there, or the two rules may part.
    bool exact() const;

    // What is known of the bytes so far, taking them for the whole input, without the header. The place of an open
    // quote is only right if the walk came past it.
    Findings findings() const;

private:
    // Two readers by the two rules, as long as they start the same records.
    struct Readers {
        State field_start;
        State anywhere;
        std::uint64_t records;       // started so far
        std::optional<Place> since;  // where they parted, while they are apart
    };

    std::size_t advance(std::span<const std::uint8_t> bytes, std::uint64_t* starts);
    std::size_t mark(std::span<const std::uint8_t> slice, std::uint64_t* starts);
    void settle(State state);
    State state_by_anywhere() const;
    std::uint64_t step_exactly(std::span<const std::uint8_t> step);
    std::optional<std::uint64_t> step_by_both_rules(std::span<const std::uint8_t> step);
    Place find_parting(std::span<const std::uint8_t> bytes, const std::uint64_t* starts, std::uint64_t records) const;
    std::optional<Transition> move(Readers& readers, std::uint64_t offset, std::uint8_t byte) const;
    Transition transition_at(std::uint64_t offset, Quoting quoting, State state, std::uint8_t byte) const;

    Dialect dialect_;
    const Kernel* kernel_;
    Markup markup_;
    StateMachine field_start_;
    StateMachine anywhere_;
    std::uint64_t bom_;
    std::uint64_t offset_ = 0;
    std::uint64_t last_open_ = 0;
    // The true state. While both rules are followed and agree it is that of `field-start`: the other rule's then
    // differs only in what it has forgotten.
    Rules rules_;
    Progress progress_{};
    Place since_{};  // where the rules parted, while they are apart
    std::optional<Place> divergence_;
    std::vector<std::uint64_t> starts_;
};

}  // namespace cleave
