// Blocks of host memory side by side in regions that grow, for much memory that is released together or not at all:
//
//   allocate   the next bytes of the current region, or of a new one
//   release    a region whose blocks are all released is given back, or, if it is the current one, begins anew
//
// A region is as large as those in use together, from kLeast to kMost bytes. So few bytes cost little, and much memory
// is in huge pages, of which each costs one page fault and not 512. A block that stays keeps its region.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "cleave/memory.h"
#include "memory/manager_base.h"

namespace cleave {

class RegionManager final : public ManagerBase {
public:
    static constexpr std::size_t kLeast = std::size_t{64} << 10;
    static constexpr std::size_t kMost = std::size_t{4} << 20;
    // Smaller regions ask for no huge pages: the system joins neighbouring mappings, and one page would span many.
    static constexpr std::size_t kLeastHuge = std::size_t{2} << 20;

    // A manager of regions of `source`, which is not null.
    static std::shared_ptr<MemoryManager> open(std::shared_ptr<MemoryManager> source);

    ~RegionManager() override;

    int allocate(cleave_memory_space space, std::size_t size, std::size_t alignment, std::uint32_t flags, void* stream,
                 cleave_memory& memory) noexcept override;
    int release(const cleave_memory& memory, void* stream) noexcept override;
    int reset() noexcept override;

private:
    // What a cleave_memory::handle points to.
    struct Region {
        Memory memory;
        std::size_t used = 0;    // bytes from the front
        std::size_t blocks = 0;  // that are not released
        Region* previous = nullptr;
        Region* next = nullptr;
    };

    explicit RegionManager(std::shared_ptr<MemoryManager> source);
    int add_region(std::size_t size) noexcept;
    std::unique_ptr<Region> take_out(Region& region) noexcept;

    const std::shared_ptr<MemoryManager> source_;
    std::mutex mutex_;         // guards the members below
    Region* first_ = nullptr;  // the current one
    std::size_t size_ = 0;     // of all regions
};

}  // namespace cleave
