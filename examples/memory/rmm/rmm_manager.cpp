// A memory manager based on RMM, the RAPIDS Memory Manager, for devices: https://github.com/rapidsai/rmm
//
// Its setting names the RMM resource: "pool" (the default), "async" (cudaMallocAsync) or "cuda" (cudaMalloc). Memory
// comes from the calling thread's current device. RMM aligns to 256 bytes; for a larger alignment, this manager asks
// for more bytes. It does not provide host memory. RMM does not tell where an allocation in its pool begins, so
// export_ipc asks the driver, with the GPU module's memory_export.h; memory of "async" has no handle.
#include <cuda_runtime_api.h>
#include <rmm/cuda_device.hpp>
#include <rmm/error.hpp>
#include <rmm/mr/cuda_async_memory_resource.hpp>
#include <rmm/mr/cuda_memory_resource.hpp>
#include <rmm/mr/pool_memory_resource.hpp>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "cleave/memory_manager.h"
#include "memory_export.h"

namespace {

using Resource = cuda::mr::any_resource<cuda::mr::device_accessible>;

constexpr std::size_t kAlignment = 256;  // RMM's

Resource make_resource(const std::string& kind) {
    if (kind == "cuda") return rmm::mr::cuda_memory_resource{};
    if (kind == "async") return rmm::mr::cuda_async_memory_resource{};
    return rmm::mr::pool_memory_resource{rmm::mr::cuda_memory_resource{}, 0};
}

class Manager {
public:
    explicit Manager(std::string kind);

    const cleave_memory_manager& face() const { return face_; }

    void initialize(std::int32_t device);
    void allocate(std::size_t size, std::size_t alignment, std::uint32_t flags, cudaStream_t stream,
                  cleave_memory& memory);
    void release(const cleave_memory& memory, cudaStream_t stream);
    void reset();

private:
    struct Block {
        void* base = nullptr;  // from RMM
        std::size_t held = 0;  // its size in bytes
        std::size_t offset = 0;
        std::size_t size = 0;
        int device = 0;
        bool is_secret = false;
        std::list<Block>::iterator place;
    };

    Resource& resource_of(int device);  // the mutex must be locked
    void give_back(const Block& block, cudaStream_t stream);

    const std::string kind_;
    cleave_memory_manager face_{};
    std::mutex mutex_;                   // guards the members below
    std::map<int, Resource> resources_;  // by device
    std::list<Block> blocks_;            // all blocks that are handed out
};

void check(cudaError_t error) {
    if (error == cudaErrorMemoryAllocation) throw std::bad_alloc();
    if (error != cudaSuccess) throw rmm::cuda_error(cudaGetErrorString(error));
}

void* begin_of(void* base, std::size_t offset) { return static_cast<std::uint8_t*>(base) + offset; }

Resource& Manager::resource_of(int device) {
    const auto found = resources_.find(device);
    if (found != resources_.end()) return found->second;
    const rmm::cuda_set_device_raii current{rmm::cuda_device_id{device}};
    return resources_.emplace(device, make_resource(kind_)).first->second;
}

void Manager::initialize(std::int32_t device) {
    if (device < 0) return;
    const std::scoped_lock lock(mutex_);
    resource_of(device);
}

void Manager::allocate(std::size_t size, std::size_t alignment, std::uint32_t flags, cudaStream_t stream,
                       cleave_memory& memory) {
    constexpr std::size_t kMost = std::numeric_limits<std::ptrdiff_t>::max() / 2;
    const std::size_t extra = alignment > kAlignment ? alignment - kAlignment : 0;
    if (size > kMost || extra > kMost) throw std::bad_alloc();

    const std::scoped_lock lock(mutex_);
    std::list<Block> made(1);
    Block& block = made.front();
    block.place = made.begin();
    block.device = rmm::get_current_cuda_device().value();
    block.is_secret = (flags & CLEAVE_MEMORY_SECRET) != 0;
    block.size = size;
    if (size > 0) {
        block.held = size + extra;
        block.base = resource_of(block.device).allocate(cuda::stream_ref{stream}, block.held, kAlignment);
        const auto address = reinterpret_cast<std::uintptr_t>(block.base);
        block.offset = (alignment - address % alignment) % alignment;
    }
    void* const begin = begin_of(block.base, block.offset);
    blocks_.splice(blocks_.end(), made);
    if ((flags & CLEAVE_MEMORY_ZEROED) != 0 && size > 0) {
        if (const cudaError_t error = cudaMemsetAsync(begin, 0, size, stream); error != cudaSuccess) {
            give_back(block, stream);
            blocks_.erase(block.place);
            check(error);
        }
    }
    memory = {begin, size, &block};
}

// The mutex must be locked.
void Manager::give_back(const Block& block, cudaStream_t stream) {
    if (block.held == 0) return;
    const rmm::cuda_set_device_raii current{rmm::cuda_device_id{block.device}};
    const cudaError_t error =
        block.is_secret ? cudaMemsetAsync(begin_of(block.base, block.offset), 0, block.size, stream) : cudaSuccess;
    resource_of(block.device).deallocate(cuda::stream_ref{stream}, block.base, block.held, kAlignment);
    check(error);
}

void Manager::release(const cleave_memory& memory, cudaStream_t stream) {
    const std::scoped_lock lock(mutex_);
    const auto& block = *static_cast<Block*>(memory.handle);
    std::list<Block> released;
    released.splice(released.end(), blocks_, block.place);
    give_back(block, stream);
}

// It is not known which streams still use the memory, so this waits for all streams.
void Manager::reset() {
    const std::scoped_lock lock(mutex_);
    for (const auto& [device, resource] : resources_) {
        const rmm::cuda_set_device_raii current{rmm::cuda_device_id{device}};
        check(cudaDeviceSynchronize());
    }
    while (!blocks_.empty()) {
        std::list<Block> released;
        released.splice(released.end(), blocks_, blocks_.begin());
        give_back(released.front(), nullptr);
    }
    while (!resources_.empty()) {
        const rmm::cuda_set_device_raii current{rmm::cuda_device_id{resources_.begin()->first}};
        check(cudaDeviceSynchronize());
        resources_.erase(resources_.begin());
    }
}

// Turns exceptions into error numbers, so that none leaves the library.
template <class Work>
int error_of(const Work& work) noexcept {
    try {
        work();
        return 0;
    } catch (const rmm::out_of_memory&) {
        return ENOMEM;
    } catch (const rmm::bad_alloc&) {
        return EIO;  // some other CUDA error
    } catch (const std::bad_alloc&) {
        return ENOMEM;
    } catch (const std::exception&) {
        return EIO;
    }
}

Manager& manager_of(void* state) { return *static_cast<Manager*>(state); }

int initialize(void* state, std::int32_t device) {
    return error_of([&] { manager_of(state).initialize(device); });
}

int allocate(void* state, cleave_memory_space space, std::size_t size, std::size_t alignment, std::uint32_t flags,
             void* stream, cleave_memory* memory) {
    constexpr std::uint32_t kKnown = (CLEAVE_MEMORY_SECRET << 1) - 1;  // the flags of version 1
    if (alignment == 0) alignment = kAlignment;
    if (space > CLEAVE_MEMORY_DEVICE || (flags & ~kKnown) != 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
    if (space != CLEAVE_MEMORY_DEVICE) return ENOTSUP;
    return error_of(
        [&] { manager_of(state).allocate(size, alignment, flags, static_cast<cudaStream_t>(stream), *memory); });
}

int release(void* state, const cleave_memory* memory, void* stream) {
    return error_of([&] { manager_of(state).release(*memory, static_cast<cudaStream_t>(stream)); });
}

// Memory that RMM keeps in its pool counts as used.
int info(void* /*state*/, cleave_memory_space space, std::uint64_t* free_size, std::uint64_t* total_size) {
    if (space != CLEAVE_MEMORY_DEVICE) return ENOTSUP;
    std::size_t free_now = 0;
    std::size_t total = 0;
    if (cudaMemGetInfo(&free_now, &total) != cudaSuccess) return EIO;
    *free_size = free_now;
    *total_size = total;
    return 0;
}

int export_ipc(void* /*state*/, const cleave_memory* memory, cleave_memory_export* exported) {
    return cleave::cuda::export_device_memory(memory->pointer, memory->size, *exported);
}

int reset(void* state) {
    return error_of([&] { manager_of(state).reset(); });
}

void destroy(void* state) {
    const std::unique_ptr<Manager> last(&manager_of(state));
    reset(state);
}

Manager::Manager(std::string kind) : kind_(std::move(kind)) {
    face_.interface_version = CLEAVE_MEMORY_MANAGER_VERSION;
    face_.struct_size = sizeof face_;
    face_.capabilities = CLEAVE_MEMORY_CAN_DEVICE | CLEAVE_MEMORY_CAN_INFO;
    if (kind_ != "async") face_.capabilities |= CLEAVE_MEMORY_CAN_EXPORT;
    if (kind_ != "cuda") face_.capabilities |= CLEAVE_MEMORY_IS_STREAM_ORDERED;
    face_.name = "rmm";
    face_.state = this;
    face_.initialize = ::initialize;
    face_.allocate = ::allocate;
    face_.release = ::release;
    face_.info = ::info;
    if (kind_ != "async") face_.export_ipc = ::export_ipc;
    face_.reset = ::reset;
    face_.destroy = ::destroy;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int cleave_memory_manager_open(const char* config,
                                                                         const cleave_memory_manager** manager,
                                                                         char* message, std::size_t message_size) {
    const std::string kind = *config == 0 ? "pool" : config;
    if (kind != "pool" && kind != "async" && kind != "cuda") {
        std::snprintf(message, message_size, "'%s' is not pool, async or cuda", config);
        return EINVAL;
    }
    return error_of([&] { *manager = &std::make_unique<Manager>(kind).release()->face(); });
}
