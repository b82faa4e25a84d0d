// The parallel half of a scan: creates a report for each block, independently of the other blocks. It can be replaced.
// By default, the kernel creates the reports on the threads of this machine. RecordIndex resolves the reports.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "cleave/blob.h"
#include "cleave/cancel.h"
#include "cleave/dialect.h"
#include "cleave/scan.h"
#include "core/dialect/state_machine.h"
#include "core/scan/rescan.h"
#include "core/scan/summarise.h"
#include "core/scan/walker.h"

namespace cleave {

// The report of a block. The summary ignores a byte order mark. A summariser may set `well_known` to false, in which
// case the block is walked; even then it must set `before` of block 0. A rescan saves time but may be left out.
struct BlockReport {
    SummarisedBlock summarised;
    Rescan rescan;
};

// An input, divided into blocks. Block i begins at i * execution.block_size, and the last block ends at `size`.
struct BlockedInput {
    const Blob& blob;
    std::uint64_t size;  // size of the part of the blob that is scanned
    Lead lead;           // blocks that begin within a preamble are walked, whatever their reports say
    const Dialect& dialect;
    const Execution& execution;  // its kernel is always set
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

    // Sets out[i] to the report of block `first` + i, and adds the bytes to execution.meter. `out` must not be empty.
    // Throws what RecordIndex throws.
    virtual void summarise(const BlockedInput& input, std::size_t first, std::span<BlockReport> out) = 0;
};

// Uses the kernel and the threads of the execution. It is stateless, so one object can serve several indexes at once.
class KernelSummariser : public BlockSummariser {
public:
    void summarise(const BlockedInput& input, std::size_t first, std::span<BlockReport> out) override;

private:
    // Called when the report of the block is ready, on the thread that created it. `bytes` are the bytes of the block.
    virtual void reported(const BlockedInput& /*input*/, std::size_t /*number*/,
                          std::span<const std::uint8_t> /*bytes*/, const BlockReport& /*report*/) {}
};

// Finds the first record start of each block while the block is in the cache of the thread that summarises it, so that
// a file larger than memory need not be read again. The state before the block is not known at that point, so the
// thread walks twice: from the likely state outside quotes, and from the likely state inside. Each walk ends soon after
// its first record start.

// Use for one index at a time.
class FirstStarts final : public KernelSummariser {
public:
    void summarise(const BlockedInput& input, std::size_t first, std::span<BlockReport> out) override;

    // The first record start in block `number`, in bytes from the start of the block, if it is known for the given
    // state before the block.
    std::optional<std::uint32_t> find(std::size_t number, State state) const noexcept;

    // The first record start in `bytes`, in bytes from their beginning, which is where the walker is. Returns nothing
    // if no record starts there.
    static std::optional<std::size_t> first_start(Walker& walker, std::span<const std::uint8_t> bytes);

private:
    static constexpr std::uint32_t kUnknown = UINT32_MAX;
    // Index 0 is for outside quotes, 1 for inside.
    struct Block {
        std::array<State, 2> states{};
        std::array<std::uint32_t, 2> starts{kUnknown, kUnknown};
    };

    void reported(const BlockedInput& input, std::size_t number, std::span<const std::uint8_t> bytes,
                  const BlockReport& report) override;
    std::unique_ptr<Walker> take_walker(const BlockedInput& input);

    std::vector<Block> blocks_;
    Mutex mutex_;
    std::vector<std::unique_ptr<Walker>> idle_ CLEAVE_GUARDED_BY(mutex_);  // a walker is expensive to create
};

}  // namespace cleave
