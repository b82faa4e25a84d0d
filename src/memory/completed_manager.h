// A manager together with managers that do what it cannot do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/mutex.h"
#include "memory/manager_base.h"

namespace cleave {

// Each member goes to the first of the managers that has it: allocate() to the first that has the space. What it gave
// is released to the same one. Memory that is too small or misaligned is given back, and the error is EPROTO. Secret
// host memory of a manager that cannot keep it secret is whole pages, left out of core dumps and wiped here. Owns the
// managers.
class CompletedManager final : public ManagerBase {
public:
    // At least one manager; their interface_version is ours. Takes its name from the first.
    explicit CompletedManager(std::vector<const cleave_memory_manager*> managers);
    ~CompletedManager() override;

    int initialize(std::int32_t device) noexcept override;
    int allocate(cleave_memory_space space, std::size_t size, std::size_t alignment, std::uint32_t flags, void* stream,
                 cleave_memory& memory) noexcept override;
    int release(const cleave_memory& memory, void* stream) noexcept override;
    int pin(const cleave_memory_owner& owner, void* pointer, std::size_t size, std::uint32_t flags,
            cleave_memory& pinned) noexcept override;
    int info(cleave_memory_space space, std::uint64_t& free_size, std::uint64_t& total_size) noexcept override;
    int export_ipc(const cleave_memory& memory, cleave_memory_export& exported) noexcept override;
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
        bool must_wipe;  // the manager does not
    };

    const cleave_memory_manager* first_with(std::uint32_t capability) const noexcept;
    void keep(Given& given) noexcept;
    void forget(Given& given) noexcept;
    void forget_all() noexcept;

    const std::vector<const cleave_memory_manager*> managers_;
    Mutex mutex_;
    Given* first_ CLEAVE_GUARDED_BY(mutex_) = nullptr;  // of all memory that is not released
};

}  // namespace cleave
