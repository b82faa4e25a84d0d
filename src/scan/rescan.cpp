#include "scan/rescan.h"

#include <algorithm>

#include "kernels/markup.h"
#include "scan/carry.h"

namespace cleave {
namespace {

// So much of a block shows what state it begins in, and is walked before the two walks look for each other.
constexpr std::size_t kEvidenceSize = std::size_t{4} << 10;

}  // namespace

Rescan Rescanner::rescan(std::span<const std::uint8_t> block, const SummarisedBlock& summarised) {
    if (summarised.summary.suspect[0] == 0 && summarised.summary.suspect[1] == 0) return {};
    // The wrong hypothesis turns suspect almost at once. Without evidence, most bytes stand outside quotes.
    const Markup markup = markup_of(dialect_);
    const std::size_t evidence = std::min(block.size(), kEvidenceSize);
    const BlockSummary head = kernel_->summarise[markup.variant](markup, block.data(), evidence, summarised.before);
    Carry before = summarised.before;
    before.inside = head.suspect[0] != 0 && head.suspect[1] == 0 ? 1 : 0;
    if (summarised.summary.suspect[before.inside] == 0) return {};

    if (!walker_) walker_.emplace(dialect_, *kernel_, 0, true);
    Walker& walker = *walker_;
    walker.compare_rules();
    walker.seek(0, 0, state_of(before, dialect_.escape_scope));
    Rescan rescan;
    std::size_t done = 0;
    while (done < block.size() && (done == 0 || walker.apart())) {
        const std::size_t part = std::min(block.size() - done, kEvidenceSize);
        walker.pass(block.subspan(done, part));
        done += part;
    }
    if (walker.apart()) return {};
    rescan.meeting_size = static_cast<std::uint32_t>(done);
    rescan.meeting_records = static_cast<std::uint32_t>(walker.records());
    rescan.meeting_state = walker.state();
    walker.pass(block.subspan(done));

    const Walker::Position end = walker.position();
    rescan.field_start = end.field_start;
    rescan.anywhere = end.anywhere;
    rescan.own = walker.state();
    rescan.diverged = walker.compares() ? 0 : 1;
    rescan.records = static_cast<std::uint32_t>(end.records);
    if (end.since) {
        rescan.apart = 1;
        rescan.since_offset = static_cast<std::uint32_t>(end.since->offset);
        rescan.since_record = static_cast<std::int32_t>(end.since->record);
    }
    return rescan;
}

void pass_by(Walker& walker, std::span<const std::uint8_t> block, const Rescan& rescan) {
    const std::uint64_t begin = walker.offset();
    const std::size_t size = rescan.meeting_size;
    walker.pass(block.first(size));
    // The first place where the rules diverge is to be found on the walker's own way.
    const bool met = size > 0 && !walker.apart() && walker.state() == rescan.meeting_state &&
                     !(walker.compares() && rescan.diverged != 0);
    if (!met) {
        walker.pass(block.subspan(size));
        return;
    }
    const std::uint64_t before_block = walker.records() - rescan.meeting_records;
    Walker::Position end{begin + block.size(), before_block + rescan.records, rescan.own, rescan.own, std::nullopt};
    if (walker.compares()) {
        end.field_start = rescan.field_start;
        end.anywhere = rescan.anywhere;
        if (rescan.apart != 0) {
            const auto record = static_cast<std::uint64_t>(std::int64_t{rescan.since_record});
            end.since = Place{begin + rescan.since_offset, before_block + record};
        }
    }
    walker.seek(end);
}

}  // namespace cleave
