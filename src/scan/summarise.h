// The parallel half of a scan: what a block says of itself, and how that of two neighbours is put together.
#pragma once

#include <cstdint>
#include <span>

#include "cleave/dialect.h"
#include "cleave/kernel.h"
#include "kernels/kernel.h"

namespace cleave {

// What was learnt of a block without knowing the state before it.
struct SummarisedBlock {
    BlockSummary summary{};
    Carry before{};          // as far as the bytes before the block tell
    bool well_known = true;  // they tell enough for this summary, and those of the block for the next one
};

// The summary of two neighbours as one block. Associative.
BlockSummary compose(const BlockSummary& first, const BlockSummary& second);

// Summarises bytes[begin, end) of an input whose byte order mark ends at `bom`. Any thread.
SummarisedBlock summarise_block(std::span<const std::uint8_t> bytes, std::uint64_t bom, std::uint64_t begin,
                                std::uint64_t end, const Dialect& dialect, const Kernel& kernel);

}  // namespace cleave
