// Walks a suspect block in advance: the worker that has the block in its cache walks it from its most likely first
// state. When the blocks are resolved one after another, the true walk goes up to the first record start that the
// worker found. If a record starts there for the true walk too, the walk skips to the last record start that the worker
// found.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "cleave/dialect.h"
#include "core/kernels/kernel.h"
#include "core/scan/comparing_walker.h"
#include "core/scan/summarise.h"

namespace cleave {

// What a rescan has found between two record starts of the block. At a record start both quote modes are in the same
// state, provided that they have not cut differently before.
struct Rescan {
    std::uint32_t begin = 0;    // the first of the two, in bytes from the start of the block
    std::uint32_t end = 0;      // the second; `begin` if nothing was found
    std::uint32_t records = 0;  // records that start in [begin, end), in the dialect's mode
    bool diverged = false;      // from `begin` on, the modes start different records in the block
    bool inside = false;        // whether the block was walked as if it began inside quotes
};

// Use from one thread at a time.
class Rescanner {
public:
    // `kernel` must outlive it.
    Rescanner(const Dialect& dialect, const Kernel& kernel) : dialect_(dialect), kernel_(&kernel) {}

    // Walks the block from its likely state, if the block is suspect from that state.
    Rescan rescan(std::span<const std::uint8_t> block, const SummarisedBlock& summarised);

    // Walks the block from inside or outside quotes, as given, if the block is suspect from there.
    Rescan rescan(std::span<const std::uint8_t> block, const SummarisedBlock& summarised, bool inside);

private:
    Dialect dialect_;
    const Kernel* kernel_;
    std::optional<ComparingWalker> walker_;  // created for the first suspect block
};

// Moves the walker across the block, skipping what the rescan has already walked, if it can.
void pass_by(ComparingWalker& walker, std::span<const std::uint8_t> block, const Rescan& rescan);

}  // namespace cleave
