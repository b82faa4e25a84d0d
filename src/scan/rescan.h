// The exact walk of a block whose summary cannot be trusted, ahead of time: by the worker that has it in its cache,
// from the state that it most likely begins in. Whether that is so turns out when the blocks are resolved one after
// another.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "cleave/dialect.h"
#include "cleave/kernel.h"
#include "kernels/kernel.h"
#include "scan/summarise.h"
#include "scan/walker.h"

namespace cleave {

// What such a walk has found. Offsets and records count from the start of the block.
struct Rescan {
    // A place near the start. A walk that comes there in the same state, with the rules agreed, needs to go no further,
    // even if it began in another.
    std::uint32_t meeting_size = 0;  // 0: there was no walk
    std::uint32_t meeting_records = 0;
    State meeting_state{};
    // The end of the block.
    State own{};  // by the dialect's rule
    State field_start{};
    State anywhere{};
    std::uint8_t apart = 0;     // the rules are in these states since they parted
    std::uint8_t diverged = 0;  // the rules have started different records; only `own` counts
    std::uint32_t records = 0;
    std::uint32_t since_offset = 0;
    std::int32_t since_record = 0;
};

// For one thread at a time.
class Rescanner {
public:
    // `kernel` must outlive it.
    Rescanner(const Dialect& dialect, const Kernel& kernel) : dialect_(dialect), kernel_(&kernel) {}

    // Walks the block if it is suspect from its likely state on.
    Rescan rescan(std::span<const std::uint8_t> block, const SummarisedBlock& summarised);

private:
    Dialect dialect_;
    const Kernel* kernel_;
    std::optional<Walker> walker_;  // made for the first suspect block
};

// Moves the walker over the block by what the rescan found, walking as little as it must.
void pass_by(Walker& walker, std::span<const std::uint8_t> block, const Rescan& rescan);

}  // namespace cleave
