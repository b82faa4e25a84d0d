// Finds the first record start of each block while the block is in the cache of the thread that summarises it, so that
// a file that does not fit into memory is not read again. The state before the block is not known then: the thread
// walks from the likely state outside quotes, and from the one inside. Both walks end after some records.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "dialect/state_machine.h"
#include "scan/block_summariser.h"
#include "scan/walker.h"

namespace cleave {

// For one index at a time.
class FirstStarts final : public KernelSummariser {
public:
    void summarise(const BlockedInput& input, std::size_t first, std::span<BlockReport> out) override;

    // The first record start in block `number`, in bytes from its start, if that is known for this state before it.
    std::optional<std::uint32_t> find(std::size_t number, State state) const noexcept;

    // The first record start in `bytes`, which begin where the walker stands: in bytes from there. Nothing if no record
    // starts there.
    static std::optional<std::size_t> first_start(Walker& walker, std::span<const std::uint8_t> bytes);

private:
    static constexpr std::uint32_t kUnknown = UINT32_MAX;
    // Index 0 is outside quotes, 1 inside.
    struct Block {
        std::array<State, 2> states{};
        std::array<std::uint32_t, 2> starts{kUnknown, kUnknown};
    };

    void reported(const BlockedInput& input, std::size_t number, std::span<const std::uint8_t> bytes,
                  const BlockReport& report) override;
    std::unique_ptr<Walker> take_walker(const BlockedInput& input);

    std::vector<Block> blocks_;
    Mutex mutex_;
    std::vector<std::unique_ptr<Walker>> idle_ CLEAVE_GUARDED_BY(mutex_);  // a walker is expensive to make
};

}  // namespace cleave
