#include "core/scan/summarise.h"

#include "core/dialect/state_machine.h"
#include "core/kernels/markup.h"
#include "core/scan/carry.h"

namespace cleave {

BlockSummary compose(const BlockSummary& first, const BlockSummary& second) {
    BlockSummary both{};
    for (unsigned before = 0; before < 2; ++before) {
        const unsigned between = before ^ first.flips;
        both.records[before] = first.records[before] + second.records[between];
        both.suspect[before] = first.suspect[before] | second.suspect[between];
    }
    both.flips = first.flips ^ second.flips;
    return both;
}

SummarisedBlock summarise_block(std::span<const std::uint8_t> bytes, std::size_t bom, std::size_t begin,
                                std::size_t end, const Dialect& dialect, const Kernel& kernel) {
    SummarisedBlock block;
    const auto carry_at = [&](std::size_t offset) {
        if (offset == 0) return carry_of(State::kRecordStart);
        const auto carry = local_carry(bytes, bom, offset, dialect);
        // A carry that is missing at `begin` is also missing at the end of the block before, so a walk of that block
        // will find it.
        if (!carry && offset > begin) block.well_known = false;
        return carry.value_or(Carry{});
    };
    block.before = carry_at(begin);
    carry_at(end);

    const Markup markup = markup_of(dialect);
    const std::size_t lane_size = (end - begin) / (kLaneCount * kLaneUnit) * kLaneUnit;
    const std::size_t lanes_end = begin + lane_size * kLaneCount;
    if (lane_size > 0) {
        Carry before[kLaneCount];
        BlockSummary lanes[kLaneCount];
        for (std::size_t i = 0; i < kLaneCount; ++i) before[i] = carry_at(begin + i * lane_size);
        kernel.summarise_lanes[markup.variant](markup, bytes.data() + begin, lane_size, before, lanes);
        block.summary = lanes[0];
        for (std::size_t i = 1; i < kLaneCount; ++i) block.summary = compose(block.summary, lanes[i]);
    }
    if (lanes_end < end) {
        const BlockSummary rest =
            kernel.summarise[markup.variant](markup, bytes.data() + lanes_end, end - lanes_end, carry_at(lanes_end));
        block.summary = lane_size > 0 ? compose(block.summary, rest) : rest;
    }
    return block;
}

}  // namespace cleave
