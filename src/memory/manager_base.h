// A memory manager that is written in C++: its virtual functions are the members of cleave_memory_manager, which has
// their contract. They return 0 or a value of <errno.h>.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "cleave/memory_manager.h"

namespace cleave {

class ManagerBase {
public:
    ManagerBase(const ManagerBase&) = delete;
    ManagerBase& operator=(const ManagerBase&) = delete;
    virtual ~ManagerBase() = default;

    // The manager as others see it. Its destroy() deletes this object, which was made by new.
    const cleave_memory_manager& face() const noexcept { return face_; }

    virtual int initialize(std::int32_t /*device*/) noexcept { return 0; }
    virtual int allocate(cleave_memory_space space, std::size_t size, std::size_t alignment, std::uint32_t flags,
                         void* stream, cleave_memory& memory) noexcept = 0;
    virtual int release(const cleave_memory& memory, void* stream) noexcept = 0;
    virtual int pin(const cleave_memory_owner& /*owner*/, void* /*pointer*/, std::size_t /*size*/,
                    std::uint32_t /*flags*/, cleave_memory& /*pinned*/) noexcept {
        return ENOTSUP;
    }
    virtual int info(cleave_memory_space /*space*/, std::uint64_t& /*free_size*/,
                     std::uint64_t& /*total_size*/) noexcept {
        return ENOTSUP;
    }
    virtual int export_ipc(const cleave_memory& /*memory*/, cleave_memory_export& /*exported*/) noexcept {
        return ENOTSUP;
    }
    virtual int defer_cleanup_begin() noexcept { return ENOTSUP; }
    virtual int defer_cleanup_end() noexcept { return ENOTSUP; }
    virtual int reset() noexcept = 0;

protected:
    // `name` must outlive the manager. Optional members are exported as the capabilities say.
    ManagerBase(const char* name, std::uint32_t capabilities) noexcept;
    // For a name that is a member. To be called by the constructor.
    void set_name(const char* name) noexcept { face_.name = name; }

private:
    cleave_memory_manager face_;
};

constexpr std::uint32_t kAllMemoryFlags = CLEAVE_MEMORY_PORTABLE | CLEAVE_MEMORY_WRITE_COMBINED | CLEAVE_MEMORY_ZEROED |
                                          CLEAVE_MEMORY_HUGE | CLEAVE_MEMORY_SECRET;

// What allocate() checks first. Sets an alignment of 0 to the default of the space. Returns 0 or EINVAL.
int check_request(cleave_memory_space space, std::size_t& alignment, std::uint32_t flags) noexcept;

// Leaves the whole pages of the memory out of core dumps. The command is not dumpable either.
void leave_out_of_dumps(const cleave_memory& memory) noexcept;

// The bit of cleave_memory_manager::capabilities for the space; 0 if there is no such space.
constexpr std::uint32_t capability_of(cleave_memory_space space) noexcept {
    return space <= CLEAVE_MEMORY_DEVICE ? CLEAVE_MEMORY_CAN_HOST << space : 0;
}

}  // namespace cleave
