// The parallel half of a scan: summarises a block, and joins the summaries of two neighbours.
#pragma once

#include <cstdint>
#include <span>

#include "cleave/dialect_rules.h"
#include "core/kernels/kernel.h"

namespace cleave {

// The summary of a block, computed without knowing the state before the block.
struct SummarisedBlock {
    BlockSummary summary{};
    Carry before{};          // found from the bytes before the block; `inside` is 0
    bool well_known = true;  // every carry within the block and at its end was found
};

// Joins the summaries of two neighbouring blocks into one. Associative.
BlockSummary compose(const BlockSummary& first, const BlockSummary& second);

// Summarises bytes[begin, end) of an input whose byte order mark ends at `bom`. May be called from any thread.
SummarisedBlock summarise_block(std::span<const std::uint8_t> bytes, std::size_t bom, std::size_t begin,
                                std::size_t end, const Dialect& dialect, const Kernel& kernel);

}  // namespace cleave
