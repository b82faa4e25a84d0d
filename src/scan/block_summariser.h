// The parallel half of a scan: a report for each block, whatever the other blocks hold. It can be replaced; by default
// the kernel makes the reports, on the threads of this machine. RecordIndex resolves them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cleave/blob.h"
#include "cleave/cancel.h"
#include "cleave/dialect.h"
#include "cleave/scan.h"
#include "scan/rescan.h"
#include "scan/summarise.h"

namespace cleave {

// The report of a block. The summary ignores a byte order mark. A summariser may set `well_known` to false: the block
// is then walked. Even so, `before` of block 0 must be set. A rescan saves time and may be left out.
struct BlockReport {
    SummarisedBlock summarised;
    Rescan rescan;
};

// An input in blocks: number i begins at i * execution.block_size, and the last one ends at `size`.
struct BlockedInput {
    const Blob& blob;
    std::uint64_t size;  // of the part of the blob that is scanned
    Lead lead;           // blocks that begin within a preamble are walked, whatever their reports say
    const Dialect& dialect;
    const Execution& execution;  // its kernel is set
    const Cancellation* cancellation;

    std::uint64_t begin_of(std::size_t number) const { return number * execution.block_size; }
    std::uint64_t end_of(std::size_t number) const { return std::min(begin_of(number) + execution.block_size, size); }
};

class BlockSummariser {
public:
    BlockSummariser() = default;
    BlockSummariser(const BlockSummariser&) = delete;
    BlockSummariser& operator=(const BlockSummariser&) = delete;
    virtual ~BlockSummariser() = default;

    // Sets out[i] to the report of block `first` + i, of which there is at least one, and adds the bytes to
    // execution.meter. Throws what RecordIndex does.
    virtual void summarise(const BlockedInput& input, std::size_t first, std::span<BlockReport> out) = 0;
};

// By the kernel and the threads of the execution. Keeps nothing, so it can be used for several indexes at once.
class KernelSummariser : public BlockSummariser {
public:
    void summarise(const BlockedInput& input, std::size_t first, std::span<BlockReport> out) override;

private:
    // Is called when the block has its report, by the thread that made it. `bytes` are those of the block.
    virtual void reported(const BlockedInput& /*input*/, std::size_t /*number*/,
                          std::span<const std::uint8_t> /*bytes*/, const BlockReport& /*report*/) {}
};

}  // namespace cleave
