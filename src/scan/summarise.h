// The parallel half of a scan: the summary of a block, and how the summaries of two neighbours are joined.
#pragma once

#include <cstdint>
#include <span>

#include "cleave/dialect.h"
#include "cleave/kernel.h"
#include "kernels/kernel.h"

namespace cleave {

// The summary of a block, made without the state before it.
struct SummarisedBlock {
    BlockSummary summary{};
    Carry before{};          // from the bytes before the block; `inside` is 0
    bool well_known = true;  // every carry within the block and at its end was found
};

// The summary of two neighbours as one block. Associative.
BlockSummary compose(const BlockSummary& first, const BlockSummary& second);

// Summarises bytes[begin, end) of an input whose byte order mark ends at `bom`. Any thread.
SummarisedBlock summarise_block(std::span<const std::uint8_t> bytes, std::uint64_t bom, std::uint64_t begin,
                                std::uint64_t end, const Dialect& dialect, const Kernel& kernel);

}  // namespace cleave
