// The built-in managers "system" and "huge", which use pages of the operating system.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/mutex.h"
#include "rows/memory/deferred_releases.h"
#include "rows/memory/manager_base.h"

namespace cleave {

enum class Pages : std::uint8_t {
    kSmall,            // huge pages only where a request asks for them
    kTransparentHuge,  // asks the system to use huge pages
    kReservedHuge,     // only huge pages that the administrator has reserved
};

// Serves host memory. Every request gets its own pages, except that "system" takes small requests (under half a page,
// not secret) from the heap. Releases are deferred (DeferredReleases), measured against all the memory that the manager
// holds, so it never holds more than 1.25 times the bytes in use.
class SystemManager final : public ManagerBase {
public:
    explicit SystemManager(Pages pages) noexcept;
    ~SystemManager() override;

    int allocate(cleave_memory_space space, std::size_t size, std::size_t alignment, std::uint32_t flags, void* stream,
                 cleave_memory& memory) noexcept override;
    int release(const cleave_memory& memory, void* stream) noexcept override;
    int info(cleave_memory_space space, std::uint64_t& free_size, std::uint64_t& total_size) noexcept override;
    int defer_cleanup_begin() noexcept override;
    int defer_cleanup_end() noexcept override;
    int reset() noexcept override;

private:
    // What a cleave_memory::handle points to.
    struct Block {
        Block* previous;
        Block* next;
        Block* next_pending;
        std::uint8_t* begin;  // null if there are no bytes
        std::size_t held;     // in bytes
        bool is_of_heap;      // from aligned_alloc() rather than pages
        bool is_secret;
    };

    bool fill(Block& block, std::size_t alignment, std::uint32_t flags) const noexcept;
    bool map(Block& block, std::size_t alignment, std::uint32_t flags) const noexcept;
    void give_back(Block& block) noexcept CLEAVE_REQUIRES(mutex_);
    void flush() noexcept CLEAVE_REQUIRES(mutex_);
    void flush_if_due() noexcept CLEAVE_REQUIRES(mutex_);

    const Pages pages_;
    Mutex mutex_;
    Block* first_ CLEAVE_GUARDED_BY(mutex_) = nullptr;
    std::uint64_t held_ CLEAVE_GUARDED_BY(mutex_) = 0;  // in all blocks
    DeferredReleases<Block> pending_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave
