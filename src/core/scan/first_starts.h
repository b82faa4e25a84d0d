// Finds the first record start of each block while the block is in the cache of the thread that summarises it, so that
// a file larger than memory need not be read again. The state before the block is not known at that point, so the
// thread walks twice: from the likely state outside quotes, and from the likely state inside. Each walk ends soon after
// its first record start.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "core/dialect/state_machine.h"
#include "core/scan/block_summariser.h"
#include "core/scan/walker.h"

namespace cleave {

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
