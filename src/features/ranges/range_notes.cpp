#include "features/ranges/range_notes.h"

#include <cstring>

#include "cleave/experimental/range_summary.h"
#include "core/scan/carry.h"
#include "core/scan/walker.h"

namespace cleave {

void RangeNotes::reported(const BlockedInput& input, std::size_t number, std::span<const std::uint8_t> bytes,
                          const BlockReport& report) {
    const SummarisedBlock& block = report.summarised;
    const BlockSummary& summary = block.summary;
    if (!block.well_known) return;
    if (!rescans_.empty()) {
        Rescanner rescanner(input.dialect, *input.execution.kernel);
        rescans_[number] = rescanner.rescan(bytes, block, !report.rescan.inside);
    }
    // Most such blocks contain no quote at all, which memchr discovers at the speed of the cache.
    if (summary.records[1] != 0 || summary.suspect[1] != 0 || summary.flips != 0) return;
    open_quotes_[number] = kBeforeRange;
    const auto& quote = input.dialect.quote;
    if (!quote || std::memchr(bytes.data(), *quote, bytes.size()) == nullptr) return;
    Carry before = block.before;
    before.inside = 1;
    Walker walker(input.dialect, *input.execution.kernel);
    walker.seek(input.begin_of(number), 0, state_of(before, input.dialect.escape_scope));
    walker.pass(bytes);
    if (walker.open_end() != 0) open_quotes_[number] = walker.open_end() - 1;
}

}  // namespace cleave
