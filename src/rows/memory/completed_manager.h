// A manager supplemented by others, which provide the members that it lacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "cleave/memory.h"
#include "rows/memory/manager_base.h"

namespace cleave {

using OwnedManager = std::unique_ptr<const cleave_memory_manager, DestroyManager>;

// Each call goes to the first manager that supports it: allocate() to the first that has the space. Memory is released
// to the manager that it came from. Memory that is too small or misaligned is given back at once, and allocate()
// returns EPROTO. If a manager cannot keep host memory secret, this class asks it for whole pages, leaves them out of
// core dumps and wipes them.
class CompletedManager final : public ManagerBase {
public:
    // Takes at least one manager, each with our interface_version. The first provides the name.
    explicit CompletedManager(std::vector<OwnedManager> managers);
    ~CompletedManager() override;

    int initialize(std::int32_t device) noexcept override;
    int allocate(cleave_memory_space space, std::size_t size, std::size_t alignment, std::uint32_t flags, void* stream,
                 cleave_memory& memory) noexcept override;
    int release(const cleave_memory& memory, void* stream) noexcept override;
    int pin(const cleave_memory_owner& owner, void* pointer, std::size_t size, std::uint32_t flags,
            cleave_memory& pinned) noexcept override;
    int info(cleave_memory_space space, std::uint64_t& free_size, std::uint64_t& total_size) noexcept override;
    int export_ipc(const cleave_memory& memory, cleave_memory_export& exported) noexcept override;
    int open_ipc(const cleave_memory_export& exported, std::int32_t device, cleave_memory& memory) noexcept override;
    int defer_cleanup_begin() noexcept override;
    int defer_cleanup_end() noexcept override;
    int reset() noexcept override;

private:
    // What a cleave_memory::handle points to.
    struct Given {
        Given* previous;
        Given* next;
        const cleave_memory_manager* manager;
        cleave_memory memory;
        bool must_wipe;  // because the manager does not
    };

    const cleave_memory_manager* first_with(std::uint32_t capability) const noexcept;
    template <class Call>
    int obtain(std::uint32_t capability, cleave_memory& memory, const Call& call) noexcept;
    void keep(Given& given) noexcept;
    void forget(Given& given) noexcept;
    void forget_all() noexcept;

    const std::vector<OwnedManager> managers_;
    Mutex mutex_;
    Given* first_ CLEAVE_GUARDED_BY(mutex_) = nullptr;  // all memory not yet released
};

}  // namespace cleave
