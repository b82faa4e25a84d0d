// The built-in managers "system" and "huge": pages of the operating system.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/mutex.h"
#include "memory/deferred_releases.h"
#include "memory/manager_base.h"

namespace cleave {

enum class Pages : std::uint8_t {
    kSmall,            // huge ones only where a request asks for them
    kTransparentHuge,  // the system is asked to use huge ones
    kReservedHuge,     // huge ones that the administrator has reserved; no others
};

// Every request gets pages of its own, of the host; one of less than half a page that is not secret comes from the
// heap. Releases are deferred (DeferredReleases): the memory that they belong to is what the manager holds. So it never
// holds more than a quarter more than what is in use.
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
        std::uint8_t* begin;  // of the pages; null if they are not any
        std::size_t held;     // bytes of them
        bool is_of_heap;      // of aligned_alloc(), not pages
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
    std::uint64_t held_ CLEAVE_GUARDED_BY(mutex_) = 0;  // bytes of all blocks
    DeferredReleases<Block> pending_ CLEAVE_GUARDED_BY(mutex_);
};

}  // namespace cleave
