// What a worker records about a block of a range while it has the block in its cache, in addition to the block's
// report. Where the report is not enough, these notes save reading the block a second time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/scan/block_summariser.h"
#include "core/scan/rescan.h"

namespace cleave {

class RangeNotes final : public KernelSummariser {
public:
    void resize(std::size_t block_count) { open_quotes_.resize(block_count); }

    // Sets whether, from now on, suspect blocks are rescanned under both assumptions: that they begin outside quotes,
    // and that they begin inside. Must not be called while blocks are being summarised.
    void rescan_both(bool wanted) { rescans_.resize(wanted ? open_quotes_.size() : 0); }

    // For a block that a reader enters inside quotes and in which no record starts after that, returns the offset of
    // the quote that opened the section still open at the end of the block. Returns kBeforeRange if that section opened
    // before the block, and nothing if the worker did not look. Offsets count from the start of the range.
    std::optional<std::uint64_t> open_quote(std::size_t number) const { return open_quotes_[number]; }

    // Returns a rescan of the block as if it began inside or outside quotes. `report` must be the report of the same
    // block.
    Rescan rescan(std::size_t number, const BlockReport& report, bool inside) const {
        return rescans_.empty() || report.rescan.inside == inside ? report.rescan : rescans_[number];
    }

private:
    void reported(const BlockedInput& input, std::size_t number, std::span<const std::uint8_t> bytes,
                  const BlockReport& report) override;

    std::vector<std::optional<std::uint64_t>> open_quotes_;
    std::vector<Rescan> rescans_;  // from the state that the reports considered less likely; or empty
};

}  // namespace cleave
