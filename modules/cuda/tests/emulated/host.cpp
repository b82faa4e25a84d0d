// The host functions of cuda_host.h in this folder: memory, streams, events and cards.
#include <cuda_runtime.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

struct CUstream_st {
    int card;
};
struct CUevent_st {
    int card;
    bool was_recorded;
};
struct CUmemPoolHandle_st {
    int card;
    std::size_t used;
    std::size_t reserved;  // stays when memory is freed
};

namespace cleave::cuda::emulator {
namespace {

[[maybe_unused]] constexpr std::size_t kGuard = 256;
constexpr std::uint8_t kGuardByte = 0xCB;
constexpr std::uint8_t kRubbish = 0xA5;
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kMargin = 0;  // the sanitizer has its own margins
#else
constexpr std::size_t kMargin = kGuard;
#endif
constexpr std::size_t kMuchMemory = std::size_t{1} << 36;

// Device memory of stream-ordered pools has no handle for other processes.
enum class Kind : std::uint8_t { kDevice, kPool, kPinned, kOpened };

struct Allocation {
    std::size_t size;
    Kind kind;
    int card;
    CUmemPoolHandle_st* pool;  // of kPool
};

// The contents of a cudaIpcMemHandle_t.
struct Exported {
    pid_t process;
    void* memory;
    std::size_t size;
};

std::mutex mutex;  // guards the variables below
std::unordered_map<void*, Allocation> allocations;
std::unordered_map<void*, std::size_t> registrations;
std::unordered_set<CUstream_st*> streams;
std::unordered_set<CUevent_st*> events;
std::unordered_set<CUmemPoolHandle_st*> pools;
int driver_version = 13000;
int card_count = 2;
std::size_t card_memory = kMuchMemory;
int failing_allocation = -1;
int failing_call = -1;
cudaError_t failing_error = cudaSuccess;
bool failure_stays = false;
cudaError_t lasting_error = cudaSuccess;
int call_count = 0;
bool has_one_address = true;
bool is_busy = false;
std::size_t legacy_launch_count = 0;
std::size_t stream_wait_count = 0;
std::vector<char> watched;
std::size_t watched_count = 0;

thread_local int current_card = 0;
thread_local cudaError_t last_error = cudaSuccess;

[[noreturn]] void fail(const char* text) {
    std::fprintf(stderr, "emulated CUDA: %s\n", text);
    std::abort();
}

cudaError_t with_error(cudaError_t error) {
    if (error != cudaSuccess) last_error = error;
    return error;
}

// Starts a call. If the result is not success, the call returns it, and does only what it must do even when it fails.
cudaError_t begin() {
    ++call_count;
    if (lasting_error == cudaSuccess && failing_call >= 0 && failing_call-- == 0) {
        if (failure_stays) lasting_error = failing_error;
        return with_error(failing_error);
    }
    return with_error(lasting_error);
}

// Wraps most calls.
template <class F>
cudaError_t call(F function) {
    const std::scoped_lock lock(mutex);
    const cudaError_t error = begin();
    return error != cudaSuccess ? error : with_error(function());
}

// Wraps calls that free memory, which they do even if they fail.
template <class F>
cudaError_t call_always(F function) {
    const std::scoped_lock lock(mutex);
    const cudaError_t done = function();
    const cudaError_t error = begin();
    return error != cudaSuccess ? error : with_error(done);
}

// With `must_be_current`, the card of the stream must be current.
void check_stream(cudaStream_t stream, bool must_be_current = false) {
    if (stream == nullptr) return;
    if (!streams.contains(stream)) fail("a stream that was destroyed");
    if (must_be_current && stream->card != current_card) fail("a stream of another card than the current one");
}

void check_event(cudaEvent_t event) {
    if (!events.contains(event)) fail("an event that was destroyed");
}

std::size_t used_memory(int card) {
    std::size_t used = 0;
    for (const auto& [memory, one] : allocations) {
        used += one.kind == Kind::kDevice && one.card == card ? one.size : 0;
    }
    for (const CUmemPoolHandle_st* pool : pools) used += pool->card == card ? pool->reserved : 0;
    return used;
}

// The allocation that has all of the bytes, or the end of the map.
auto allocation_of(const void* bytes, std::size_t size) {
    const auto begin = reinterpret_cast<std::uintptr_t>(bytes);
    return std::ranges::find_if(allocations, [&](const auto& entry) {
        const auto first = reinterpret_cast<std::uintptr_t>(entry.first);
        return begin >= first && begin - first <= entry.second.size && size <= entry.second.size - (begin - first);
    });
}

bool is_allocated(const void* bytes, std::size_t size) {
    return size == 0 || allocation_of(bytes, size) != allocations.end();
}

bool is_registered(const void* bytes, std::size_t size) {
    const auto begin = reinterpret_cast<std::uintptr_t>(bytes);
    return std::ranges::any_of(registrations, [&](const auto& entry) {
        const auto first = reinterpret_cast<std::uintptr_t>(entry.first);
        return begin < first + entry.second && first < begin + size;
    });
}

// What cudaGetDriverEntryPointByVersion() finds.
int address_range(void** begin, std::size_t* size, const void* pointer) {
    const std::scoped_lock lock(mutex);
    const auto found = allocation_of(pointer, 1);
    if (found == allocations.end()) return 1;
    *begin = found->first;
    *size = found->second.size;
    return 0;
}

cudaError_t allocate(void** memory, std::size_t size, Kind kind, int card, CUmemPoolHandle_st* pool = nullptr) {
    if (failing_allocation >= 0 && failing_allocation-- == 0) return cudaErrorMemoryAllocation;
    if (size == 0) {
        *memory = nullptr;
        return cudaSuccess;
    }
    const std::size_t spare = pool != nullptr ? pool->reserved - pool->used : 0;
    const std::size_t more = size - std::min(size, spare);
    if (kind != Kind::kPinned && more > card_memory - std::min(card_memory, used_memory(card)))
        return cudaErrorMemoryAllocation;
    void* whole = nullptr;
    if (posix_memalign(&whole, 256, size + 2 * kMargin) != 0) return cudaErrorMemoryAllocation;
    auto* const at = static_cast<std::uint8_t*>(whole);
    if (kMargin != 0) {
        std::memset(at, kGuardByte, kMargin);
        std::memset(at + kMargin + size, kGuardByte, kMargin);
    }
    std::memset(at + kMargin, kRubbish, size);
    *memory = at + kMargin;
    allocations.emplace(*memory, Allocation{size, kind, card, pool});
    if (pool != nullptr) {
        pool->used += size;
        pool->reserved += more;
    }
    return cudaSuccess;
}

void check_guards(const void* memory, std::size_t size) {
    const auto* const at = static_cast<const std::uint8_t*>(memory);
    for (std::size_t i = 0; i < kMargin; ++i) {
        if (at[size + i] != kGuardByte || *(at - i - 1) != kGuardByte) {
            std::fprintf(stderr, "emulated CUDA: written outside of %zu bytes\n", size);
            std::abort();
        }
    }
}

cudaError_t release(void* memory, Kind kind) {
    if (memory == nullptr) return cudaSuccess;
    const auto found = allocations.find(memory);
    if (found == allocations.end() || found->second.kind != kind) return cudaErrorInvalidValue;
    const std::size_t size = found->second.size;
    check_guards(memory, size);
    const std::string_view text(static_cast<const char*>(memory), size);
    if (!watched.empty() && text.find({watched.data(), watched.size()}) != std::string_view::npos) ++watched_count;
    if (pools.contains(found->second.pool)) found->second.pool->used -= size;
    allocations.erase(found);
    std::free(static_cast<std::uint8_t*>(memory) - kMargin);
    return cudaSuccess;
}

}  // namespace

void set_machine(int driver, int cards, std::size_t memory) noexcept {
    driver_version = driver;
    card_count = cards;
    card_memory = memory;
}

void set_one_address(bool is_set) noexcept { has_one_address = is_set; }

void fail_allocation(int n) noexcept { failing_allocation = n; }

void fail_call(int n, cudaError_t error, bool stays) noexcept {
    failing_call = n;
    failing_error = error;
    failure_stays = stays;
    lasting_error = cudaSuccess;
    last_error = cudaSuccess;
    call_count = 0;
}

int calls() noexcept { return call_count; }

std::size_t live_allocations() noexcept {
    for (const auto& [memory, one] : allocations) check_guards(memory, one.size);
    return allocations.size() + registrations.size();
}

std::size_t live_streams() noexcept { return streams.size(); }
std::size_t live_events() noexcept { return events.size(); }
std::size_t stream_waits() noexcept { return stream_wait_count; }
std::size_t legacy_launches() noexcept { return legacy_launch_count; }

void watch(const void* bytes, std::size_t size) noexcept {
    const auto* const first = static_cast<const char*>(bytes);
    watched.assign(first, first + size);
    watched_count = 0;
}

std::size_t watched_frees() noexcept { return watched_count; }

cudaError_t begin_launch(cudaStream_t stream) noexcept {
    return call([=] {
        check_stream(stream, true);
        legacy_launch_count += stream == nullptr ? 1 : 0;
        return cudaSuccess;
    });
}

}  // namespace cleave::cuda::emulator

// NOLINTBEGIN: the names are CUDA's
using namespace cleave::cuda::emulator;

const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
        case cudaSuccess: return "no error";
        case cudaErrorMemoryAllocation: return "out of memory";
        case cudaErrorNoDevice: return "no CUDA-capable device is detected";
        case cudaErrorInvalidDevice: return "invalid device ordinal";
        case cudaErrorNotReady: return "device not ready";
        case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
        default: return "invalid value";
    }
}
cudaError_t cudaGetLastError() {
    const std::scoped_lock lock(mutex);
    return std::exchange(last_error, lasting_error);
}
cudaError_t cudaDriverGetVersion(int* version) {
    return call([=] { return *version = driver_version, cudaSuccess; });
}
cudaError_t cudaRuntimeGetVersion(int* version) {
    return call([=] { return *version = 13000, cudaSuccess; });
}
cudaError_t cudaGetDevice(int* device) {
    return call([=] { return *device = current_card, cudaSuccess; });
}
cudaError_t cudaSetDevice(int device) {
    return call([=] {
        if (device < 0 || device >= card_count) return cudaErrorInvalidDevice;
        current_card = device;
        return cudaSuccess;
    });
}
cudaError_t cudaGetDeviceCount(int* count) {
    return call([=] { return *count = card_count, card_count == 0 ? cudaErrorNoDevice : cudaSuccess; });
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    return call([=] {
        if (device < 0 || device >= card_count) return cudaErrorInvalidDevice;
        std::snprintf(properties->name, sizeof properties->name, "emulated card %d", device);
        for (char i = 0; i < 16; ++i) properties->uuid.bytes[static_cast<int>(i)] = static_cast<char>(i * 17);
        properties->uuid.bytes[15] = static_cast<char>(device);
        properties->totalGlobalMem = card_memory;
        return cudaSuccess;
    });
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
    return call([=] {
        switch (attribute) {
            case cudaDevAttrMultiProcessorCount: *value = processors(); break;
            case cudaDevAttrCanUseHostPointerForRegisteredMem: *value = has_one_address ? 1 : 0; break;
            case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 227 << 10; break;
        }
        return cudaSuccess;
    });
}
cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t) {
    return call([] { return cudaSuccess; });
}
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit) {
    return call([=] { return *value = 1 << 30, cudaSuccess; });
}
cudaError_t cudaDeviceSynchronize() {
    return call([] { return cudaSuccess; });
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    return call([=] { return streams.insert(*stream = new CUstream_st{current_card}), cudaSuccess; });
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return call_always([=] {
        check_stream(stream);
        streams.erase(stream);
        delete stream;
        return cudaSuccess;
    });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return call([=] { return check_stream(stream), cudaSuccess; });
}
// Every other call reports that there is still work to do.
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return call([=] {
        check_stream(stream);
        is_busy = !is_busy;
        return is_busy ? cudaErrorNotReady : cudaSuccess;
    });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    return call([=] { return check_stream(stream), check_event(event), ++stream_wait_count, cudaSuccess; });
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return call([=] { return events.insert(*event = new CUevent_st{current_card, false}), cudaSuccess; });
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return call_always([=] {
        check_event(event);
        events.erase(event);
        delete event;
        return cudaSuccess;
    });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return call([=] {
        check_stream(stream, true);
        check_event(event);
        if (event->card != current_card) fail("an event of another card than the current one");
        event->was_recorded = true;
        return cudaSuccess;
    });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return call([=] { return check_event(event), cudaSuccess; });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
    return call([=] {
        check_event(from);
        check_event(to);
        if (!from->was_recorded || !to->was_recorded) return cudaErrorInvalidResourceHandle;
        *milliseconds = 250;
        return cudaSuccess;
    });
}
cudaError_t cudaMalloc(void** memory, std::size_t size) {
    return call([=] { return allocate(memory, size, Kind::kDevice, current_card); });
}
cudaError_t cudaFree(void* memory) {
    return call_always([=] { return release(memory, Kind::kDevice); });
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
    return call([=] {
        return pools.insert(*pool = new CUmemPoolHandle_st{properties->location.id, 0, 0}), cudaSuccess;
    });
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    return call_always([=] { return pools.erase(pool), delete pool, cudaSuccess; });
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
    return call([] { return cudaSuccess; });
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    return call([=] {
        *static_cast<std::uint64_t*>(value) =
            attribute == cudaMemPoolAttrReservedMemCurrent ? pool->reserved : pool->used;
        return cudaSuccess;
    });
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t size) {
    return call([=] { return pool->reserved = std::max(pool->used, std::min(pool->reserved, size)), cudaSuccess; });
}
cudaError_t cudaMallocFromPoolAsync(void** memory, std::size_t size, cudaMemPool_t pool, cudaStream_t stream) {
    return call([=] { return check_stream(stream), allocate(memory, size, Kind::kPool, pool->card, pool); });
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
    return call_always([=] { return check_stream(stream), release(memory, Kind::kPool); });
}
cudaError_t cudaHostAlloc(void** memory, std::size_t size, unsigned) {
    return call([=] { return allocate(memory, size, Kind::kPinned, 0); });
}
cudaError_t cudaFreeHost(void* memory) {
    return call_always([=] { return release(memory, Kind::kPinned); });
}
cudaError_t cudaHostRegister(void* memory, std::size_t size, unsigned) {
    return call([=] {
        if (memory == nullptr || size == 0) return cudaErrorInvalidValue;
        if (is_registered(memory, size)) return cudaErrorHostMemoryAlreadyRegistered;
        registrations.emplace(memory, size);
        return cudaSuccess;
    });
}
cudaError_t cudaHostUnregister(void* memory) {
    return call_always(
        [=] { return registrations.erase(memory) == 1 ? cudaSuccess : cudaErrorHostMemoryNotRegistered; });
}
cudaError_t cudaMemGetInfo(std::size_t* free_size, std::size_t* total_size) {
    return call([=] {
        *total_size = card_memory;
        *free_size = card_memory - std::min(card_memory, used_memory(current_card));
        return cudaSuccess;
    });
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
    return call([=] {
        const bool is_known = std::string_view(symbol) == "cuMemGetAddressRange";
        *found = is_known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
        *function = is_known ? reinterpret_cast<void*>(&address_range) : nullptr;
        return cudaSuccess;
    });
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) {
    return call([=] {
        const auto found = allocation_of(memory, 1);
        const bool is_known = found != allocations.end();
        const bool is_of_host = is_known ? found->second.kind == Kind::kPinned : is_registered(memory, 1);
        attributes->type = is_of_host ? cudaMemoryTypeHost
                           : is_known ? cudaMemoryTypeDevice
                                      : cudaMemoryTypeUnregistered;
        attributes->device = is_known ? found->second.card : 0;
        return cudaSuccess;
    });
}
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* memory) {
    return call([=] {
        const auto found = allocations.find(memory);
        if (found == allocations.end() || found->second.kind != Kind::kDevice) return cudaErrorInvalidValue;
        const Exported exported{::getpid(), memory, found->second.size};
        *handle = {};
        std::memcpy(handle->reserved, &exported, sizeof exported);
        ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // otherwise other processes might not be allowed to read this one
        return cudaSuccess;
    });
}
cudaError_t cudaIpcOpenMemHandle(void** memory, cudaIpcMemHandle_t handle, unsigned) {
    return call([=] {
        Exported exported{};
        std::memcpy(&exported, handle.reserved, sizeof exported);
        if (exported.process == ::getpid()) return cudaErrorInvalidValue;
        if (const cudaError_t error = allocate(memory, exported.size, Kind::kOpened, current_card);
            error != cudaSuccess) {
            return error;
        }
        const iovec here{*memory, exported.size};
        const iovec there{exported.memory, exported.size};
        const auto read = ::process_vm_readv(exported.process, &here, 1, &there, 1, 0);
        if (read == static_cast<ssize_t>(exported.size)) return cudaSuccess;
        release(*memory, Kind::kOpened);
        return cudaErrorInvalidResourceHandle;
    });
}
cudaError_t cudaIpcCloseMemHandle(void* memory) {
    return call_always([=] { return release(memory, Kind::kOpened); });
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t size, cudaMemcpyKind kind) {
    return cudaMemcpyAsync(to, from, size, kind, nullptr);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size, cudaMemcpyKind kind, cudaStream_t stream) {
    return call([=] {
        check_stream(stream);
        // As on a card, memory that a copy names as device memory must be on the device.
        const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
        const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
        if (from_device && !is_allocated(from, size)) return cudaErrorInvalidValue;
        if (to_device && !is_allocated(to, size)) return cudaErrorInvalidValue;
        if (size != 0) std::memcpy(to, from, size);
        return cudaSuccess;
    });
}
cudaError_t cudaMemsetAsync(void* at, int byte, std::size_t size, cudaStream_t stream) {
    return call([=] {
        check_stream(stream);
        if (size != 0) std::memset(at, byte, size);
        return cudaSuccess;
    });
}
// NOLINTEND
