#include "cuda/managers.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "cuda/current_card.h"
#include "cuda/memory_export.h"
#include "cuda/stream_pool.h"
#include "rows/memory/deferred_releases.h"
#include "rows/memory/manager_base.h"
#include "rows/memory/pool_manager.h"

namespace cleave::cuda {
namespace {

int errno_of(cudaError_t error) {
    if (error == cudaSuccess) return 0;
    cudaGetLastError();  // otherwise the next launch would seem to fail
    switch (error) {
        case cudaErrorMemoryAllocation: return ENOMEM;
        case cudaErrorNoDevice:
        case cudaErrorInvalidDevice: return ENODEV;
        case cudaErrorInvalidValue:
        case cudaErrorInvalidResourceHandle: return EINVAL;
        case cudaErrorHostMemoryAlreadyRegistered: return EEXIST;
        case cudaErrorNotSupported: return ENOTSUP;
        default: return EIO;
    }
}

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }

int wait_for(void* stream) { return errno_of(cudaStreamSynchronize(stream_of(stream))); }

int zero(void* pointer, std::size_t size, void* stream) {
    return errno_of(cudaMemsetAsync(pointer, 0, size, stream_of(stream)));
}

enum class Order : std::uint8_t { kDevice, kStream };

constexpr std::uint32_t kPinnedSpaces = CLEAVE_MEMORY_CAN_PINNED | CLEAVE_MEMORY_CAN_MAPPED;
constexpr std::uint32_t kAllSpaces = CLEAVE_MEMORY_CAN_DEVICE | kPinnedSpaces;

// Another process cannot use a handle to map memory from a CUDA pool.
std::uint32_t capabilities_of(Order order, std::uint32_t spaces) {
    const std::uint32_t common = spaces | CLEAVE_MEMORY_CAN_INFO | CLEAVE_MEMORY_CAN_PIN | CLEAVE_MEMORY_CAN_DEFER;
    if (order == Order::kStream) return common | CLEAVE_MEMORY_IS_STREAM_ORDERED;
    const bool has_device = (spaces & CLEAVE_MEMORY_CAN_DEVICE) != 0;
    return common | (has_device ? CLEAVE_MEMORY_CAN_EXPORT | CLEAVE_MEMORY_CAN_OPEN : 0);
}

// CUDA aligns memory to 256 bytes; larger alignments are met by allocating more.
class CudaManager final : public ManagerBase {
public:
    explicit CudaManager(Order order, std::uint32_t spaces = kAllSpaces)
        : ManagerBase(order == Order::kStream ? "cuda-async" : "cuda", capabilities_of(order, spaces)), order_(order) {}
    ~CudaManager() override { reset(); }

    int initialize(std::int32_t device) noexcept override { return device < 0 ? 0 : errno_of(cudaSetDevice(device)); }

    int allocate(cleave_memory_space space, std::size_t size, std::size_t alignment, std::uint32_t flags, void* stream,
                 cleave_memory& memory) noexcept override {
        if (const int error = check_request(space, alignment, flags); error != 0) return error;
        if ((capability_of(space) & face().capabilities) == 0) return ENOTSUP;
        const std::size_t asked = size > 0 ? size : 1;
        const std::size_t spare = alignment > kAlignment ? alignment - kAlignment : 0;
        if (asked > SIZE_MAX - spare) return ENOMEM;
        Given* const given = make(space != CLEAVE_MEMORY_DEVICE ? Source::kHostAlloc
                                  : order_ == Order::kStream    ? Source::kStreamPool
                                                                : Source::kMalloc);
        if (given == nullptr) return ENOMEM;
        given->is_secret = (flags & CLEAVE_MEMORY_SECRET) != 0;
        given->held = given->source == Source::kMalloc ? asked + spare : 0;
        int error = errno_of(take(*given, asked + spare, space, flags, stream));
        if (error == ENOMEM && flush()) error = errno_of(take(*given, asked + spare, space, flags, stream));
        if (error != 0) {
            delete given;
            return error;
        }
        void* pointer = given->base;
        std::size_t room = asked + spare;
        std::align(alignment, asked, pointer, room);
        given->memory = {pointer, asked, given};
        if ((flags & CLEAVE_MEMORY_ZEROED) != 0) error = clear(*given, stream);
        if (error != 0) {
            give_back(given, stream);
            return error;
        }
        keep(*given);
        memory = given->memory;
        return 0;
    }

    int release(const cleave_memory& memory, void* stream) noexcept override {
        auto& given = *static_cast<Given*>(memory.handle);
        int error = 0;
        if (!given.is_on_device()) error = wait_for(stream);  // from here on no work uses the memory
        if (given.is_secret) {
            const int wiped = wipe(given, stream);
            if (error == 0) error = wiped;
        }
        const int freed = given.is_costly() ? put_off(given) : give_back(forget(given), stream);
        return error != 0 ? error : freed;
    }

    int pin(const cleave_memory_owner& owner, void* pointer, std::size_t size, std::uint32_t flags,
            cleave_memory& pinned) noexcept override {
        if ((flags & ~std::uint32_t{CLEAVE_MEMORY_PORTABLE | CLEAVE_MEMORY_PIN_MAPPED}) != 0) return EINVAL;
        if (pointer == nullptr || size == 0) return EINVAL;
        Given* const given = make(Source::kPin);
        if (given == nullptr) return ENOMEM;
        int is_same_address = 1;
        int error = 0;
        if ((flags & CLEAVE_MEMORY_PIN_MAPPED) != 0) {
            error = errno_of(
                cudaDeviceGetAttribute(&is_same_address, cudaDevAttrCanUseHostPointerForRegisteredMem, given->card));
            if (error == 0 && is_same_address == 0) error = ENOTSUP;
        }
        unsigned how = cudaHostRegisterPortable;
        if ((flags & CLEAVE_MEMORY_PIN_MAPPED) != 0) how |= cudaHostRegisterMapped;
        if (error == 0) error = errno_of(cudaHostRegister(pointer, size, how));
        if (error != 0) {
            delete given;
            return error;
        }
        owner.retain(owner.object);
        given->owner = owner;
        given->base = pointer;
        given->memory = {pointer, size, given};
        keep(*given);
        pinned = given->memory;
        return 0;
    }

    // Memory whose release is pending counts as free, because a request that fails gets it.
    int info(cleave_memory_space space, std::uint64_t& free_size, std::uint64_t& total_size) noexcept override {
        if (space != CLEAVE_MEMORY_DEVICE) return ENOTSUP;
        std::size_t available = 0;
        std::size_t total = 0;
        const int error = errno_of(cudaMemGetInfo(&available, &total));
        if (error != 0) return error;
        const MutexLock lock(mutex_);
        free_size = std::min<std::uint64_t>(available + pool_.spare() + pending_.size(), total);
        total_size = total;
        return 0;
    }

    int export_ipc(const cleave_memory& memory, cleave_memory_export& exported) noexcept override {
        if (static_cast<const Given*>(memory.handle)->source != Source::kMalloc) return ENOTSUP;
        return export_device_memory(memory.pointer, memory.size, exported);
    }

    int open_ipc(const cleave_memory_export& exported, std::int32_t device, cleave_memory& memory) noexcept override {
        cudaIpcMemHandle_t handle;
        if (exported.handle_size != sizeof handle) return EINVAL;
        if (exported.process == this_process()) return EEXIST;
        cudaDeviceProp properties{};
        if (const int error = errno_of(cudaGetDeviceProperties(&properties, device)); error != 0) return error;
        if (std::memcmp(exported.device, &properties.uuid, sizeof exported.device) != 0) return EXDEV;
        Given* const given = make(Source::kIpc);
        if (given == nullptr) return ENOMEM;
        given->card = device;
        std::memcpy(&handle, exported.handle, sizeof handle);
        int error = 0;
        {
            const CurrentCard current(device);
            error = errno_of(cudaIpcOpenMemHandle(&given->base, handle, cudaIpcMemLazyEnablePeerAccess));
        }
        if (error != 0) {
            delete given;
            return error;
        }
        given->memory = {static_cast<std::uint8_t*>(given->base) + exported.offset, exported.size, given};
        keep(*given);
        memory = given->memory;
        return 0;
    }

    int defer_cleanup_begin() noexcept override {
        const MutexLock lock(mutex_);
        pending_.begin();
        return 0;
    }

    int defer_cleanup_end() noexcept override {
        const MutexLock lock(mutex_);
        if (!pending_.end()) return EINVAL;
        return flush_if_due();
    }

    // Makes no CUDA call if the manager holds nothing: there may be no driver.
    int reset() noexcept override {
        Given* first = nullptr;
        {
            const MutexLock lock(mutex_);
            pending_.flush([](Given&) {});  // the memory is also in the list of all memory
            first = std::exchange(first_, nullptr);
        }
        int first_error = 0;
        while (first != nullptr) {
            Given* const given = std::exchange(first, first->next);
            const CurrentCard current(given->card);
            for (const int error : {errno_of(cudaDeviceSynchronize()), given->is_secret ? wipe(*given, nullptr) : 0,
                                    give_back(given, nullptr)}) {
                if (first_error == 0) first_error = error;
            }
        }
        const int error = errno_of(pool_.trim());
        return first_error != 0 ? first_error : error;
    }

private:
    static constexpr std::size_t kAlignment = 256;

    enum class Source : std::uint8_t { kMalloc, kStreamPool, kHostAlloc, kPin, kIpc };

    // What cleave_memory::handle points to.
    struct Given {
        // Of the list of all memory that has not been given back.
        Given* previous;
        Given* next;
        Given* next_pending;
        std::size_t held;  // bytes of the device that wait to be freed while this is pending
        Source source;
        bool is_secret;
        int card;    // current at the request
        void* base;  // as CUDA returned it
        cleave_memory memory;
        cleave_memory_owner owner;  // of kPin

        bool is_on_device() const { return source == Source::kMalloc || source == Source::kStreamPool; }
        // Whether giving it back makes the device wait. Pinned memory might be pinned again at once.
        bool is_costly() const { return source == Source::kMalloc || source == Source::kHostAlloc; }
    };

    // Returns nullptr if memory has run out.
    static Given* make(Source source) noexcept {
        auto* const given = new (std::nothrow) Given{};
        if (given == nullptr) return nullptr;
        given->source = source;
        if (cudaGetDevice(&given->card) != cudaSuccess) cudaGetLastError();
        return given;
    }

    void keep(Given& given) noexcept {
        const MutexLock lock(mutex_);
        std::size_t available = 0;
        std::size_t total = 0;
        if (given.held > 0 && device_size_ == 0 && errno_of(cudaMemGetInfo(&available, &total)) == 0) {
            device_size_ = total;
        }
        given.next = first_;
        if (first_ != nullptr) first_->previous = &given;
        first_ = &given;
    }

    void unlink(Given& given) noexcept CLEAVE_REQUIRES(mutex_) {
        if (given.previous != nullptr) given.previous->next = given.next;
        if (given.next != nullptr) given.next->previous = given.previous;
        if (first_ == &given) first_ = given.next;
    }

    Given* forget(Given& given) noexcept {
        const MutexLock lock(mutex_);
        unlink(given);
        return &given;
    }

    int put_off(Given& given) noexcept {
        const MutexLock lock(mutex_);
        pending_.add(given);
        return flush_if_due();
    }

    int flush_if_due() noexcept CLEAVE_REQUIRES(mutex_) { return pending_.is_due(device_size_) ? flush_all() : 0; }

    // Returns the first error.
    int flush_all() noexcept CLEAVE_REQUIRES(mutex_) {
        int first_error = 0;
        pending_.flush([&](Given& given) {
            mutex_.assert_held();
            unlink(given);
            const int error = give_back(&given, nullptr);
            if (first_error == 0) first_error = error;
        });
        return first_error;
    }

    // Returns whether anything was pending.
    bool flush() noexcept {
        const MutexLock lock(mutex_);
        const bool is_pending = !pending_.is_empty();
        flush_all();
        return is_pending;
    }

    // Host memory is zeroed immediately, because its owner may write to it before the stream gets to run.
    static int clear(const Given& given, void* stream) {
        if (given.is_on_device()) return zero(given.memory.pointer, given.memory.size, stream);
        ::explicit_bzero(given.memory.pointer, given.memory.size);
        return 0;
    }

    // Clears memory that is about to be given back. cudaFree() is not documented to wait.
    static int wipe(const Given& given, void* stream) {
        const int error = clear(given, stream);
        const int waited = given.source == Source::kMalloc ? wait_for(stream) : 0;
        return error != 0 ? error : waited;
    }

    cudaError_t take(Given& given, std::size_t size, cleave_memory_space space, std::uint32_t flags, void* stream) {
        if (given.source == Source::kMalloc) return cudaMalloc(&given.base, size);
        if (given.source == Source::kStreamPool) return pool_.allocate(&given.base, size, stream_of(stream));
        unsigned how = cudaHostAllocDefault;
        if (space == CLEAVE_MEMORY_MAPPED) how |= cudaHostAllocMapped;
        if ((flags & CLEAVE_MEMORY_PORTABLE) != 0) how |= cudaHostAllocPortable;
        if ((flags & CLEAVE_MEMORY_WRITE_COMBINED) != 0) how |= cudaHostAllocWriteCombined;
        return cudaHostAlloc(&given.base, size, how);
    }

    // Takes memory that is in no list any more. cudaFree() itself waits for the device; before the other calls, the
    // caller has waited.
    static int give_back(Given* given, void* stream) {
        const CurrentCard current(given->card);
        const std::unique_ptr<Given> deleted(given);
        switch (given->source) {
            case Source::kMalloc: return errno_of(cudaFree(given->base));
            case Source::kStreamPool: return errno_of(cudaFreeAsync(given->base, stream_of(stream)));
            case Source::kHostAlloc: return errno_of(cudaFreeHost(given->base));
            case Source::kIpc: return errno_of(cudaIpcCloseMemHandle(given->base));
            case Source::kPin: break;
        }
        const int error = errno_of(cudaHostUnregister(given->base));
        given->owner.release(given->owner.object);
        return error;
    }

    const Order order_;
    StreamPool pool_;  // for kStream
    Mutex mutex_;
    Given* first_ CLEAVE_GUARDED_BY(mutex_) = nullptr;
    DeferredReleases<Given> pending_ CLEAVE_GUARDED_BY(mutex_);
    std::uint64_t device_size_ CLEAVE_GUARDED_BY(mutex_) = 0;  // of the card that was used first
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
