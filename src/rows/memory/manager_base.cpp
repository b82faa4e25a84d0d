#include "rows/memory/manager_base.h"

#include <sys/mman.h>
#include <unistd.h>

#include <bit>

namespace cleave {
namespace {

ManagerBase& of(void* state) noexcept { return *static_cast<ManagerBase*>(state); }

}  // namespace

ManagerBase::ManagerBase(const char* name, std::uint32_t capabilities) noexcept : face_{} {
    face_.interface_version = CLEAVE_MEMORY_MANAGER_VERSION;
    face_.struct_size = sizeof(cleave_memory_manager);
    face_.capabilities = capabilities;
    face_.name = name;
    face_.state = this;
    face_.initialize = [](void* state, std::int32_t device) { return of(state).initialize(device); };
    face_.allocate = [](void* state, cleave_memory_space space, std::size_t size, std::size_t alignment,
                        std::uint32_t flags, void* stream, cleave_memory* memory) {
        return of(state).allocate(space, size, alignment, flags, stream, *memory);
    };
    face_.release = [](void* state, const cleave_memory* memory, void* stream) {
        return of(state).release(*memory, stream);
    };
    if ((capabilities & CLEAVE_MEMORY_CAN_PIN) != 0) {
        face_.pin = [](void* state, const cleave_memory_owner* owner, void* pointer, std::size_t size,
                       std::uint32_t flags,
                       cleave_memory* pinned) { return of(state).pin(*owner, pointer, size, flags, *pinned); };
    }
    if ((capabilities & CLEAVE_MEMORY_CAN_INFO) != 0) {
        face_.info = [](void* state, cleave_memory_space space, std::uint64_t* free_size, std::uint64_t* total_size) {
            return of(state).info(space, *free_size, *total_size);
        };
    }
    if ((capabilities & CLEAVE_MEMORY_CAN_EXPORT) != 0) {
        face_.export_ipc = [](void* state, const cleave_memory* memory, cleave_memory_export* exported) {
            return of(state).export_ipc(*memory, *exported);
        };
    }
    if ((capabilities & CLEAVE_MEMORY_CAN_DEFER) != 0) {
        face_.defer_cleanup_begin = [](void* state) { return of(state).defer_cleanup_begin(); };
        face_.defer_cleanup_end = [](void* state) { return of(state).defer_cleanup_end(); };
    }
    if ((capabilities & CLEAVE_MEMORY_CAN_OPEN) != 0) {
        face_.open_ipc = [](void* state, const cleave_memory_export* exported, std::int32_t device,
                            cleave_memory* memory) { return of(state).open_ipc(*exported, device, *memory); };
    }
    face_.reset = [](void* state) { return of(state).reset(); };
    face_.destroy = [](void* state) { delete &of(state); };
}

int check_request(cleave_memory_space space, std::size_t& alignment, std::uint32_t flags) noexcept {
    if (space > CLEAVE_MEMORY_DEVICE || (flags & ~kAllMemoryFlags) != 0) return EINVAL;
    if (alignment == 0) alignment = space == CLEAVE_MEMORY_DEVICE ? 256 : 64;
    return std::has_single_bit(alignment) ? 0 : EINVAL;
}

void leave_out_of_dumps(const cleave_memory& memory) noexcept {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.pointer);
    const std::uintptr_t first = (begin + page - 1) / page * page;
    const std::uintptr_t end = (begin + memory.size) / page * page;
    if (first < end)
        ::madvise(static_cast<std::uint8_t*>(memory.pointer) + (first - begin), end - first, MADV_DONTDUMP);
}

}  // namespace cleave
