// Walks bytes in order from a known state, in one quote mode:
//
//   while there are bytes: let the kernel mark the record starts of the next ones;
//                          where it stops, run the state machine over 64 bytes.
//
// ComparingWalker (see comparing_walker.h) also watches the other mode.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cleave/dialect.h"
#include "cleave/error.h"
#include "cleave/kernel.h"
#include "cleave/scan.h"
#include "core/dialect/state_machine.h"
#include "core/kernels/kernel.h"

namespace cleave {

// Use from one thread at a time. Uses 6 KiB of memory, plus a bit for each byte of the longest walk().
class Walker {
public:
    // Starts at the beginning of an input with this lead, or of bytes taken from the middle of an input. `kernel` must
    // outlive the walker.
    Walker(const Dialect& dialect, const Kernel& kernel, const Lead& lead = {});
    virtual ~Walker() = default;

    void seek(std::uint64_t offset, std::uint64_t records, State state);

    // Takes the next bytes and returns their record starts: bit i % 64 of word i / 64 is set if a record starts at
    // bytes[i]. Bits past the end are 0. The words are valid until the next call.
    std::span<const std::uint64_t> walk(std::span<const std::uint8_t> bytes);

    // The same, but does not return the record starts.
    void pass(std::span<const std::uint8_t> bytes);

    std::uint64_t offset() const { return position_.offset; }
    std::uint64_t records() const { return position_.records; }  // the number of records that start before offset()
    State state() const;
    const Lead& lead() const { return lead_; }
    // The quote that is open after the last byte. It is correct only if the walk has passed that quote.
    std::optional<Place> open_quote() const;

    // The offset just past the last quote that opened a section, or 0 if the walker has passed none since it was
    // created.
    std::uint64_t open_end() const { return position_.open_end; }

    // The last of the record starts that walk() returned, in bytes from the first byte of that walk.
    static std::optional<std::size_t> last_of(std::span<const std::uint64_t> starts);

private:
    friend class ComparingWalker;

    // Takes some of the bytes and returns how many: all, or a multiple of 64.
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
