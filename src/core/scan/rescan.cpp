#include "core/scan/rescan.h"

#include <algorithm>

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
