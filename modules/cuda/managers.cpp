#include "cuda/managers.h"

#include <cuda_runtime.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

#include "base/mutex.h"
#include "rows/memory/manager_base.h"
#include "rows/memory/pool_manager.h"

namespace cleave::cuda {
namespace {

int errno_of(cudaError_t error) {
    if (error == cudaSuccess) return 0;
    cudaGetLastError();  // otherwise the next launch would seem to fail
    return error == cudaErrorMemoryAllocation ? ENOMEM : error == cudaErrorNoDevice ? ENODEV : EIO;
}

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }

int wait_for(void* stream) { return errno_of(cudaStreamSynchronize(stream_of(stream))); }

int zero(void* pointer, std::size_t size, void* stream) {
    return errno_of(cudaMemsetAsync(pointer, 0, size, stream_of(stream)));
}

// A CUDA memory pool, created on first use. It frees memory only when told to.
class StreamPool {
public:
    StreamPool() = default;
    StreamPool(const StreamPool&) = delete;
    StreamPool& operator=(const StreamPool&) = delete;
    ~StreamPool() {
        if (pool_ != nullptr) cudaMemPoolDestroy(pool_);
    }

    cudaError_t allocate(void** pointer, std::size_t size, cudaStream_t stream) {
        cudaMemPool_t pool = nullptr;
        if (const cudaError_t error = make(pool); error != cudaSuccess) return error;
        const cudaError_t error = cudaMallocFromPoolAsync(pointer, size, pool, stream);
        if (error != cudaErrorMemoryAllocation) return error;
        cudaGetLastError();
        if (const cudaError_t other = cudaDeviceSynchronize(); other != cudaSuccess) return other;
        if (const cudaError_t other = cudaMemPoolTrimTo(pool, 0); other != cudaSuccess) return other;
        return cudaMallocFromPoolAsync(pointer, size, pool, stream);
    }

    // Bytes that the pool holds but that are not in use.
    std::uint64_t spare() {
        const MutexLock lock(mutex_);
        std::uint64_t held = 0;
        std::uint64_t used = 0;
        if (pool_ == nullptr ||
            cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &held) != cudaSuccess ||
            cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used) != cudaSuccess || used > held) {
            return 0;
        }
        return held - used;
    }

private:
    // Creates the pool if necessary and sets `pool` to it.
    cudaError_t make(cudaMemPool_t& pool) {
        const MutexLock lock(mutex_);
        pool = pool_;
        if (pool != nullptr) return cudaSuccess;
        cudaMemPoolProps wanted{};  // NOLINT(bugprone-invalid-enum-default-initialization): CUDA wants zeros
        wanted.allocType = cudaMemAllocationTypePinned;
        wanted.location.type = cudaMemLocationTypeDevice;
        cudaError_t error = cudaGetDevice(&wanted.location.id);
        cudaMemPool_t made = nullptr;
        if (error == cudaSuccess) error = cudaMemPoolCreate(&made, &wanted);
        if (error != cudaSuccess) return error;
        std::uint64_t kept = UINT64_MAX;
        error = cudaMemPoolSetAttribute(made, cudaMemPoolAttrReleaseThreshold, &kept);
        if (error != cudaSuccess) {
            cudaMemPoolDestroy(made);
        } else {
            pool = pool_ = made;
        }
        return error;
    }

    Mutex mutex_;
    cudaMemPool_t pool_ CLEAVE_GUARDED_BY(mutex_) = nullptr;
};

enum class Order : std::uint8_t { kDevice, kStream };

constexpr std::uint32_t kPinnedSpaces = CLEAVE_MEMORY_CAN_PINNED | CLEAVE_MEMORY_CAN_MAPPED;
constexpr std::uint32_t kAllSpaces = CLEAVE_MEMORY_CAN_DEVICE | kPinnedSpaces;

// Another process cannot use a handle to map memory from a CUDA pool.
std::uint32_t capabilities_of(Order order, std::uint32_t spaces) {
    if (order == Order::kStream) return spaces | CLEAVE_MEMORY_CAN_INFO | CLEAVE_MEMORY_IS_STREAM_ORDERED;
    const bool has_device = (spaces & CLEAVE_MEMORY_CAN_DEVICE) != 0;
    return spaces | CLEAVE_MEMORY_CAN_INFO | (has_device ? CLEAVE_MEMORY_CAN_EXPORT : 0);
}

// Exports what another process needs to map the memory that cudaMalloc() returned at `base`.
int export_base(void* base, cleave_memory_export& exported) {
    cudaIpcMemHandle_t handle;
    static_assert(sizeof handle <= sizeof exported.handle);
    const cudaError_t error = cudaIpcGetMemHandle(&handle, base);
    if (error != cudaSuccess) return error == cudaErrorNotSupported ? (cudaGetLastError(), ENOTSUP) : errno_of(error);
    cudaPointerAttributes attributes{};
    if (const int other = errno_of(cudaPointerGetAttributes(&attributes, base)); other != 0) return other;
    cudaDeviceProp properties{};
    if (const int other = errno_of(cudaGetDeviceProperties(&properties, attributes.device)); other != 0) return other;
    std::memcpy(exported.handle, &handle, sizeof handle);
    exported.handle_size = sizeof handle;
    std::memcpy(exported.device, properties.uuid.bytes, sizeof exported.device);
    return 0;
}

// CUDA aligns memory to 256 bytes; larger alignments are met by allocating more. reset() frees nothing, because CUDA
// keeps no list.
class CudaManager final : public ManagerBase {
public:
    explicit CudaManager(Order order, std::uint32_t spaces = kAllSpaces)
        : ManagerBase(order == Order::kStream ? "cuda-async" : "cuda", capabilities_of(order, spaces)), order_(order) {}

    int initialize(std::int32_t device) noexcept override { return device < 0 ? 0 : errno_of(cudaSetDevice(device)); }

    int allocate(cleave_memory_space space, std::size_t size, std::size_t alignment, std::uint32_t flags, void* stream,
                 cleave_memory& memory) noexcept override {
        if (const int error = check_request(space, alignment, flags); error != 0) return error;
        if ((capability_of(space) & face().capabilities) == 0) return ENOTSUP;
        const std::size_t asked = size > 0 ? size : 1;
        const std::size_t spare = alignment > kAlignment ? alignment - kAlignment : 0;
        if (asked > SIZE_MAX - spare) return ENOMEM;
        auto* const given = new (std::nothrow) Given{space, (flags & CLEAVE_MEMORY_SECRET) != 0, nullptr};
        if (given == nullptr) return ENOMEM;
        int error = errno_of(take(space, asked + spare, flags, stream, &given->base));
        void* pointer = given->base;
        std::size_t room = asked + spare;
        std::align(alignment, asked, pointer, room);
        if (error == 0 && (flags & CLEAVE_MEMORY_ZEROED) != 0) {
            error = clear(space, pointer, asked, stream);
            if (error != 0) give_back(space, given->base, stream);
        }
        if (error != 0) {
            delete given;
            return error;
        }
        memory = {pointer, asked, given};
        return 0;
    }

    int release(const cleave_memory& memory, void* stream) noexcept override {
        auto* const given = static_cast<Given*>(memory.handle);
        const bool is_of_device = given->space == CLEAVE_MEMORY_DEVICE;
        int zeroed = 0;
        if (given->is_secret) {
            if (!is_of_device) zeroed = wait_for(stream);  // from here on no work uses the memory
            const int cleared = clear(given->space, memory.pointer, memory.size, stream);
            if (zeroed == 0) zeroed = cleared;
            // cudaFree() is not documented to wait.
            if (is_of_device && order_ == Order::kDevice) wait_for(stream);
        }
        const int error = give_back(given->space, given->base, stream);
        delete given;
        return zeroed != 0 ? zeroed : error;
    }

    int info(cleave_memory_space space, std::uint64_t& free_size, std::uint64_t& total_size) noexcept override {
        if (space != CLEAVE_MEMORY_DEVICE) return ENOTSUP;
        std::size_t available = 0;
        std::size_t total = 0;
        const int error = errno_of(cudaMemGetInfo(&available, &total));
        if (error != 0) return error;
        free_size = available + pool_.spare();
        total_size = total;
        return 0;
    }

    int export_ipc(const cleave_memory& memory, cleave_memory_export& exported) noexcept override {
        const auto& given = *static_cast<const Given*>(memory.handle);
        if (given.space != CLEAVE_MEMORY_DEVICE) return ENOTSUP;
        cleave_memory_export made{};
        if (const int error = export_base(given.base, made); error != 0) return error;
        made.offset = static_cast<std::uint64_t>(static_cast<std::uint8_t*>(memory.pointer) -
                                                 static_cast<std::uint8_t*>(given.base));
        made.size = memory.size;
        exported = made;
        return 0;
    }

    int reset() noexcept override { return 0; }

private:
    static constexpr std::size_t kAlignment = 256;

    // What cleave_memory::handle points to.
    struct Given {
        cleave_memory_space space;
        bool is_secret;
        void* base;  // as CUDA returned it
    };

    // Host memory is zeroed immediately, because its owner may write to it before the stream gets to run.
    static int clear(cleave_memory_space space, void* pointer, std::size_t size, void* stream) {
        if (space == CLEAVE_MEMORY_DEVICE) return zero(pointer, size, stream);
        ::explicit_bzero(pointer, size);
        return 0;
    }

    cudaError_t take(cleave_memory_space space, std::size_t size, std::uint32_t flags, void* stream, void** pointer) {
        if (space == CLEAVE_MEMORY_DEVICE) {
            return order_ == Order::kStream ? pool_.allocate(pointer, size, stream_of(stream))
                                            : cudaMalloc(pointer, size);
        }
        unsigned how = cudaHostAllocDefault;
        if (space == CLEAVE_MEMORY_MAPPED) how |= cudaHostAllocMapped;
        if ((flags & CLEAVE_MEMORY_PORTABLE) != 0) how |= cudaHostAllocPortable;
        if ((flags & CLEAVE_MEMORY_WRITE_COMBINED) != 0) how |= cudaHostAllocWriteCombined;
        return cudaHostAlloc(pointer, size, how);
    }

    // cudaFree() itself waits for the device; cudaFreeHost() does not.
    int give_back(cleave_memory_space space, void* pointer, void* stream) const {
        if (space != CLEAVE_MEMORY_DEVICE) {
            const int error = wait_for(stream);
            const int freed = errno_of(cudaFreeHost(pointer));
            return error != 0 ? error : freed;
        }
        return errno_of(order_ == Order::kStream ? cudaFreeAsync(pointer, stream_of(stream)) : cudaFree(pointer));
    }

    const Order order_;
    StreamPool pool_;  // for kStream
};

struct PoolName {
    std::string_view name;
    std::uint32_t spaces;
    std::uint64_t region_size;
};

constexpr PoolName kPools[] = {{"cuda-pool", kAllSpaces, std::uint64_t{1} << 30},
                               {"pinned-pool", kPinnedSpaces, PoolManager::kDefaultRegionSize}};

// The size after the name of a pool and a colon, or the default size.
std::uint64_t region_size_of(const std::string& name, const PoolName& pool) {
    const std::string_view config = std::string_view(name).substr(pool.name.size());
    if (config.empty()) return pool.region_size;
    std::uint64_t size = 0;
    const char* const end = config.data() + config.size();
    const auto read = std::from_chars(config.data() + 1, end, size);
    if (config[0] != ':' || read.ec != std::errc() || read.ptr != end || size < PoolManager::kMinRegionSize ||
        size > PoolManager::kMaxRegionSize) {
        throw MemoryManagerError(std::string(pool.name) + ": not a size of regions: " + name);
    }
    return size;
}

}  // namespace

// A manager deletes itself in destroy().
const cleave_memory_manager& make_manager(const std::string& name) {
    if (name == "cuda") return (new CudaManager(Order::kDevice))->face();
    if (name == "cuda-async") return (new CudaManager(Order::kStream))->face();
    for (const PoolName& pool : kPools) {
        if (!name.starts_with(pool.name)) continue;
        const std::uint64_t size = region_size_of(name, pool);
        return (new PoolManager((new CudaManager(Order::kDevice, pool.spaces))->face(), size, {&wait_for, &zero}))
            ->face();
    }
    throw MemoryManagerError("no memory manager of a device: " + name);
}

std::shared_ptr<MemoryManager> open_manager(const std::string& name) {
    return MemoryManager::adopt(make_manager(name));
}

}  // namespace cleave::cuda
