// Walks bytes in order from a known state, by one quote rule:
//
//   while there are bytes: let the kernel mark the record starts of the next ones;
//                          where it stops, take 64 bytes by the state machine.
//
// ComparingWalker (see comparing_walker.h) watches the other rule too.
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

// For one thread at a time. Memory: 6 KiB, and an eighth of a byte for each byte of the longest walk().
class Walker {
public:
    // At the start of an input with this lead, or of bytes from within an input. `kernel` must outlive the walker.
    Walker(const Dialect& dialect, const Kernel& kernel, const Lead& lead = {});
    virtual ~Walker() = default;

    void seek(std::uint64_t offset, std::uint64_t records, State state);

    // Takes the next bytes and returns their record starts: bit i % 64 of word i / 64 is set if a record starts at
    // bytes[i]; bits past the end are 0. The words are valid until the next call.
    std::span<const std::uint64_t> walk(std::span<const std::uint8_t> bytes);

    // The same without the record starts.
    void pass(std::span<const std::uint8_t> bytes);

    std::uint64_t offset() const { return position_.offset; }
    std::uint64_t records() const { return position_.records; }  // that start before offset()
    State state() const;
    const Lead& lead() const { return lead_; }
    // The quote that is open after the last byte. Right only if the walk has passed that quote.
    std::optional<Place> open_quote() const;

    // Just past the last quote that opened a section, if the walk has passed one since it was made; else 0.
    std::uint64_t open_end() const { return position_.open_end; }

    // The last of the starts that walk() returned, in bytes from the first of those walked.
    static std::optional<std::size_t> last_of(std::span<const std::uint64_t> starts);

private:
    friend class ComparingWalker;

    // Takes some of the bytes and says how many: all, or a multiple of 64.
    virtual std::size_t advance(std::span<const std::uint8_t> bytes, std::uint64_t* starts);
    void read(std::span<const std::uint8_t> bytes, std::uint64_t* starts);
    std::size_t mark(Rules rules, std::span<const std::uint8_t> bytes, std::uint64_t* starts);
    std::uint64_t step_exactly(std::span<const std::uint8_t> step);
    Transition transition_at(std::uint64_t offset, State state, std::uint8_t byte) const;

    Dialect dialect_;
    const Kernel* kernel_;
    Markup markup_;
    StateMachine machine_;
    Lead lead_;
    Position position_{};
    std::vector<std::uint64_t> starts_;
};

}  // namespace cleave
