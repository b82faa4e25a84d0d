// A Stepper that keeps the record starts of a walk. ComparingWalker (see comparing_walker.h) also watches the other
// quote mode.
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
#include "core/scan/stepper.h"

namespace cleave {

// Use from one thread at a time. Uses 6 KiB of memory, plus a bit for each byte of the longest walk().
class Walker : public Stepper {
public:
    using Stepper::Stepper;
    virtual ~Walker() = default;

    // Takes the next bytes and returns their record starts: bit i % 64 of word i / 64 is set if a record starts at
    // bytes[i]. Bits past the end are 0. The words are valid until the next call.
    std::span<const std::uint64_t> walk(std::span<const std::uint8_t> bytes);

    // The same, but does not return the record starts.
    void pass(std::span<const std::uint8_t> bytes);

    // The quote that is open after the last byte. It is correct only if the walk has passed that quote.
    std::optional<Place> open_quote() const;

    // The last of the record starts that walk() returned, in bytes from the first byte of that walk.
    static std::optional<std::size_t> last_of(std::span<const std::uint64_t> starts) { return last_start(starts); }

private:
    friend class ComparingWalker;

    // Takes some of the bytes and returns how many: all, or a multiple of 64.
    virtual std::size_t advance(std::span<const std::uint8_t> bytes, std::uint64_t* starts);

    std::vector<std::uint64_t> starts_;
};

}  // namespace cleave
