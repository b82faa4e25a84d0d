#include "core/scan/summarise.h"

#include <algorithm>

#include "core/dialect/state_machine.h"
#include "core/kernels/markup.h"
#include "core/scan/carry.h"

namespace cleave {
namespace {

// This many bytes of a block are enough to show its most likely first state, and two walks from different states
// usually meet within this distance.
constexpr std::size_t kEvidenceSize = std::size_t{4} << 10;

// How many bytes to walk at a time. Their record starts take up little of a cache.
constexpr std::size_t kExactSize = std::size_t{16} << 10;

}  // namespace

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

SummarisedBlock summarise_block(std::span<const std::uint8_t> bytes, std::uint64_t bom, std::uint64_t begin,
                                std::uint64_t end, const Dialect& dialect, const Kernel& kernel) {
    SummarisedBlock block;
    const auto carry_at = [&](std::uint64_t offset) {
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
    const std::uint64_t lane_size = (end - begin) / (kLaneCount * kLaneUnit) * kLaneUnit;
    const std::uint64_t lanes_end = begin + lane_size * kLaneCount;
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

Rescan Rescanner::rescan(std::span<const std::uint8_t> block, const SummarisedBlock& summarised) {
    if (summarised.summary.suspect[0] == 0 && summarised.summary.suspect[1] == 0) return {};
    // The wrong hypothesis becomes suspect almost at once. Without evidence, outside is more likely, because most bytes
    // are outside quotes.
    const Markup markup = markup_of(dialect_);
    const std::size_t evidence = std::min(block.size(), kEvidenceSize);
    const BlockSummary head = kernel_->summarise[markup.variant](markup, block.data(), evidence, summarised.before);
    return rescan(block, summarised, head.suspect[0] != 0 && head.suspect[1] == 0);
}

Rescan Rescanner::rescan(std::span<const std::uint8_t> block, const SummarisedBlock& summarised, bool inside) {
    Rescan rescan;
    rescan.inside = inside;
    Carry before = summarised.before;
    before.inside = inside ? 1 : 0;
    if (summarised.summary.suspect[before.inside] == 0) return rescan;

    if (!walker_) walker_.emplace(dialect_, *kernel_);
    ComparingWalker& walker = *walker_;
    walker.compare_from(0, 0, state_of(before, dialect_.escape_scope));
    std::size_t done = 0;
    std::optional<std::size_t> begin;
    while (!begin && done < block.size()) {
        const auto part = block.subspan(done, std::min(block.size() - done, kEvidenceSize));
        if (const auto last = Walker::last_of(walker.walk(part))) begin = done + *last;
        done += part.size();
    }
    if (!begin) return rescan;
    // The comparison starts again here, because the modes agree at a record start.
    walker.compare_from(*begin, 0, State::kRecordStart);
    rescan.begin = rescan.end = static_cast<std::uint32_t>(*begin);
    walker.pass(block.subspan(*begin, done - *begin));
    for (; done < block.size(); done = walker.offset()) {
        const auto part = block.subspan(done, std::min(block.size() - done, kExactSize));
        if (const auto last = Walker::last_of(walker.walk(part))) {
            rescan.end = static_cast<std::uint32_t>(done + *last);
            rescan.records = static_cast<std::uint32_t>(walker.records()) - 1;
        }
    }
    rescan.diverged = !walker.compares();
    return rescan;
}

void pass_by(ComparingWalker& walker, std::span<const std::uint8_t> block, const Rescan& rescan) {
    const std::uint64_t offset = walker.offset();
    walker.pass(block.first(rescan.begin));
    // If the rescan has seen the modes diverge and the walker has not, the walker must walk there to find where they
    // do.
    const bool is_news = walker.compares() && rescan.diverged;
    std::size_t done = rescan.begin;
    if (is_past_record(walker.state()) && !walker.apart() && !is_news && rescan.end > rescan.begin) {
        done = rescan.end;
        walker.seek(offset + done, walker.records() + rescan.records, State::kRecordStart);
    }
    walker.pass(block.subspan(done));
}

}  // namespace cleave
