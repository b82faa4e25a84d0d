// Walks bytes in order from a known state, in one quote mode:
//
//   while there are bytes: let the kernel mark the record starts of the next ones;
//                          where it stops, run the state machine over 64 bytes.
//
// Allocates nothing and throws nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "cleave/dialect_rules.h"
#include "core/dialect/state_machine.h"
#include "core/kernels/kernel.h"

namespace cleave {

// Use from one thread at a time. Takes up 6 KiB.
class Stepper {
public:
    // How many bytes the kernel marks in one call.
    static constexpr std::size_t kSliceSize = 256 * kStepSize;

    // Starts at the beginning of an input with this lead, or of bytes taken from the middle of an input. `kernel` must
    // outlive the stepper.
    Stepper(const Dialect& dialect, const Kernel& kernel, const Lead& lead = {});

    void seek(std::uint64_t offset, std::uint64_t records, State state);

    // Takes the next bytes and sets starts[0, ceil(size / 64)) to their record starts: bit i % 64 of word i / 64 is set
    // if a record starts at bytes[i]. Bits past the end are 0.
    void read(std::span<const std::uint8_t> bytes, std::uint64_t* starts);

    std::uint64_t offset() const { return position_.offset; }
    std::uint64_t records() const { return position_.records; }  // the number of records that start before offset()
    State state() const;
    const Lead& lead() const { return lead_; }

    // The offset just past the last quote that opened a section, or 0 if none has been passed since forget_quote().
    std::uint64_t open_end() const { return position_.open_end; }
    void forget_quote() { position_.open_end = 0; }

private:
    friend class Walker;
    friend class ComparingWalker;

    std::size_t mark(Rules rules, std::span<const std::uint8_t> bytes, std::uint64_t* starts);
    std::uint64_t step_exactly(std::span<const std::uint8_t> step);
    Transition transition_at(std::uint64_t offset, State state, std::uint8_t byte);

    Dialect dialect_;
    const Kernel* kernel_;
    Markup markup_;
    Lead lead_;
    Position position_{};
    std::optional<StateMachine> machine_;  // created when it is first needed
};

// The last of the record starts that are marked in these words, in bytes from the first.
std::optional<std::size_t> last_start(std::span<const std::uint64_t> starts);

}  // namespace cleave
