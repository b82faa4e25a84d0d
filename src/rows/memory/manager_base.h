// The base of memory managers written in C++. The virtual functions are the members of cleave_memory_manager, which
// documents their contract. They return 0 or a value from <errno.h>.
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

    // The manager in the form of the C interface. Its destroy() deletes this object, which must have been created with
    // `new`.
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
    virtual int open_ipc(const cleave_memory_export& /*exported*/, std::int32_t /*device*/,
                         cleave_memory& /*memory*/) noexcept {
        return ENOTSUP;
    }
    virtual int defer_cleanup_begin() noexcept { return ENOTSUP; }
    virtual int defer_cleanup_end() noexcept { return ENOTSUP; }
    virtual int reset() noexcept = 0;

protected:
    // `name` must outlive the manager. The optional members are exported according to `capabilities`.
    ManagerBase(const char* name, std::uint32_t capabilities) noexcept;
    // For derived classes that own their name. Call it from the constructor.
    void set_name(const char* name) noexcept { face_.name = name; }

private:
    cleave_memory_manager face_;
};

constexpr std::uint32_t kAllMemoryFlags = CLEAVE_MEMORY_PORTABLE | CLEAVE_MEMORY_WRITE_COMBINED | CLEAVE_MEMORY_ZEROED |
                                          CLEAVE_MEMORY_HUGE | CLEAVE_MEMORY_SECRET;

// The checks that every allocate() begins with. Replaces an alignment of 0 with the default of the space. Returns 0 or
// EINVAL.
int check_request(cleave_memory_space space, std::size_t& alignment, std::uint32_t flags) noexcept;

// Excludes the complete pages within the memory from core dumps. (The process of the command is not dumpable anyway.)
void leave_out_of_dumps(const cleave_memory& memory) noexcept;

// The bit of cleave_memory_manager::capabilities for the space; 0 if the space does not exist.
constexpr std::uint32_t capability_of(cleave_memory_space space) noexcept {
    return space <= CLEAVE_MEMORY_DEVICE ? CLEAVE_MEMORY_CAN_HOST << space : 0;
}

}  // namespace cleave
