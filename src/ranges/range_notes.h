// What the worker that has a block of a range in its cache notes beside the block's report, so that the range need not
// be read again where a report does not tell enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scan/block_summariser.h"
#include "scan/rescan.h"

namespace cleave {

class RangeNotes final : public KernelSummariser {
public:
    void resize(std::size_t block_count) { open_quotes_.resize(block_count); }

    // Whether suspect blocks are rescanned both as if they began outside quotes and as if inside, from now on. Must not
    // be called while blocks are summarised.
    void rescan_both(bool wanted) { rescans_.resize(wanted ? open_quotes_.size() : 0); }

    // Of a block without a record start from inside quotes: the quote that opened in the block if it was entered inside
    // quotes; kBeforeRange if none did; nothing if that was not looked for. Offsets count from the start of the range.
    std::optional<std::uint64_t> open_quote(std::size_t number) const { return open_quotes_[number]; }

    // A rescan of the block as if it began there. The report is that of the block.
    Rescan rescan(std::size_t number, const BlockReport& report, bool inside) const {
        return rescans_.empty() || report.rescan.inside == inside ? report.rescan : rescans_[number];
    }

private:
    void reported(const BlockedInput& input, std::size_t number, std::span<const std::uint8_t> bytes,
                  const BlockReport& report) override;

    std::vector<std::optional<std::uint64_t>> open_quotes_;
    std::vector<Rescan> rescans_;  // from the state that the reports have not taken for the likely one; or empty
};

}  // namespace cleave
