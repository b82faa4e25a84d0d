// The built-in manager "pool", which hands out parts of large regions.
//
// A region comes from another manager and is divided into adjacent blocks, which form a list in address order. A
// request takes a free block that is large enough and cuts off what it does not need. A released block is joined with
// free neighbours. Free blocks are kept in lists by size: list k has blocks of 2^k to 2^(k+1) - 1 units. A request
// searches the list for its own size, and then takes any block from a list of larger ones (segregated fits; Wilson,
// Johnstone, Neely and Boles, "Dynamic storage allocation", 1995). The descriptions of blocks are kept outside the
// regions, so a region can be device memory.
//
// On a device, a block released on one stream may still be in use by work submitted earlier. The same stream can have
// it at once, because a stream works in order. Before a different stream gets it, the pool waits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/mutex.h"
#include "cleave/memory.h"
#include "rows/memory/manager_base.h"

namespace cleave {

// What the pool needs from a device. Both functions return 0 or a value from <errno.h>.
struct DeviceCalls {
    int (*wait)(void* stream) = nullptr;
    int (*zero)(void* pointer, std::size_t size, void* stream) = nullptr;
};

class PoolManager final : public ManagerBase {
public:
    static constexpr std::uint64_t kDefaultRegionSize = std::uint64_t{64} << 20;
    static constexpr std::uint64_t kMinRegionSize = std::uint64_t{64} << 10;
    static constexpr std::uint64_t kMaxRegionSize = std::uint64_t{1} << 40;
    static constexpr std::size_t kUnit = 256;  // block sizes are multiples of it

    // Owns `source` and serves the spaces that it has. `calls` are required if `source` has device memory. A request
    // larger than `region_size` gets a region to itself.
    PoolManager(const cleave_memory_manager& source, std::uint64_t region_size, DeviceCalls calls = {}) noexcept;
    ~PoolManager() override;

    PoolStatistics statistics() const;

    int initialize(std::int32_t device) noexcept override;
    int allocate(cleave_memory_space space, std::size_t size, std::size_t alignment, std::uint32_t flags, void* stream,
                 cleave_memory& memory) noexcept override;
    int release(const cleave_memory& memory, void* stream) noexcept override;
    // The source pins the memory and opens it. The pool keeps the record, but never hands out parts of such memory.
    int pin(const cleave_memory_owner& owner, void* pointer, std::size_t size, std::uint32_t flags,
            cleave_memory& pinned) noexcept override;
    int open_ipc(const cleave_memory_export& exported, std::int32_t device, cleave_memory& memory) noexcept override;
    int info(cleave_memory_space space, std::uint64_t& free_size, std::uint64_t& total_size) noexcept override;
    // Exports the block's region, with the offset of the block.
    int export_ipc(const cleave_memory& memory, cleave_memory_export& exported) noexcept override;
    // The pool gives regions back only when memory runs out and in reset(). Deferral is the source's.
    int defer_cleanup_begin() noexcept override;
    int defer_cleanup_end() noexcept override;
    int reset() noexcept override;

private:
    struct Region;
    struct Block;

    int zero(const Block& block, std::size_t size, void* stream) const noexcept;
    template <class Get>
    static int make_region(cleave_memory_space space, const Get& get, Region*& region) noexcept;
    template <class Get>
    int lend(cleave_memory_space space, const Get& get, cleave_memory& memory) noexcept;
    void keep(Region& region) noexcept CLEAVE_REQUIRES(mutex_);
    void forget(Region& region) noexcept CLEAVE_REQUIRES(mutex_);
    int give_back(Region& region, void* stream) const noexcept;
    int add_region(cleave_memory_space space, std::size_t size) noexcept CLEAVE_REQUIRES(mutex_);
    int obtain(cleave_memory_space space, std::size_t size, std::size_t extra, std::size_t alignment,
               Block*& block) noexcept CLEAVE_REQUIRES(mutex_);
    Block* find(cleave_memory_space space, std::size_t size, std::size_t alignment) noexcept CLEAVE_REQUIRES(mutex_);
    Block* take(Block& block, std::size_t before, std::size_t size) noexcept CLEAVE_REQUIRES(mutex_);
    static Block* divide(Block& block, std::size_t size) noexcept;
    static bool can_join(const Block& block, const Block& next) noexcept;
    static void join_next(Block& block) noexcept;
    void put_back(Block& block) noexcept CLEAVE_REQUIRES(mutex_);
    void link(Block& block) noexcept CLEAVE_REQUIRES(mutex_);
    void unlink(Block& block) noexcept CLEAVE_REQUIRES(mutex_);
    void settle() noexcept CLEAVE_REQUIRES(mutex_);
    void trim() noexcept CLEAVE_REQUIRES(mutex_);

    static constexpr std::size_t kSpaces = 4;
    static constexpr std::size_t kLists = 56;

    const cleave_memory_manager& source_;
    const std::size_t region_size_;
    const DeviceCalls calls_;
    mutable Mutex mutex_;
    Region* first_region_ CLEAVE_GUARDED_BY(mutex_) = nullptr;
    std::array<std::array<Block*, kLists>, kSpaces> free_ CLEAVE_GUARDED_BY(mutex_) = {};
    PoolStatistics statistics_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave
