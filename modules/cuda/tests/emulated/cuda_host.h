// The host functions of cuda_runtime.h in this folder, which includes this file.
//
// The machine initially has two cards. Streams, events and device memory belong to the card that was current when they
// were created. Streams do nothing: every call has finished when it returns. Any thread may call; calls are serialised.
//
// A test aborts with a message if it uses a destroyed stream or event, or one whose card is not current where a device
// would refuse that.
#pragma once

#include <cstddef>

// NOLINTBEGIN: the names are CUDA's
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
enum cudaDeviceAttr {
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrCanUseHostPointerForRegisteredMem = 91,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};
enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice };
enum cudaDriverEntryPointQueryResult { cudaDriverEntryPointSuccess, cudaDriverEntryPointSymbolNotFound };
#define CUDART_VERSION 13000
enum cudaLimit { cudaLimitMallocHeapSize = 2 };
enum cudaMemAllocationType { cudaMemAllocationTypePinned = 1 };
enum cudaMemLocationType { cudaMemLocationTypeDevice = 1 };
enum cudaMemPoolAttr {
    cudaMemPoolAttrReleaseThreshold = 4,
    cudaMemPoolAttrReservedMemCurrent = 5,
    cudaMemPoolAttrUsedMemCurrent = 7
};
using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
using cudaMemPool_t = struct CUmemPoolHandle_st*;
struct cudaMemPoolProps {
    cudaMemAllocationType allocType;
    struct {
        cudaMemLocationType type;
        int id;
    } location;
};
struct cudaUUID_t {
    char bytes[16];
};
struct cudaDeviceProp {
    char name[256];
    cudaUUID_t uuid;
    std::size_t totalGlobalMem;
};
struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
};
struct cudaIpcMemHandle_t {
    char reserved[64];
};
constexpr unsigned cudaIpcMemLazyEnablePeerAccess = 1;
constexpr unsigned cudaStreamNonBlocking = 1;
constexpr unsigned cudaEventDisableTiming = 2;
constexpr unsigned cudaHostAllocDefault = 0;
constexpr unsigned cudaHostAllocPortable = 1;
constexpr unsigned cudaHostAllocMapped = 2;
constexpr unsigned cudaHostAllocWriteCombined = 4;
constexpr unsigned cudaHostRegisterPortable = 1;
constexpr unsigned cudaHostRegisterMapped = 2;
constexpr unsigned long long cudaEnableDefault = 0;

namespace cleave::cuda::emulator {

// Sets up the machine: a driver for CUDA `driver` (13000 is 13.0, 0 is none) and `cards`, each with `memory` bytes.
void set_machine(int driver, int cards, std::size_t memory) noexcept;
// Whether the cards use the CPU's addresses of memory that was pinned. Initially they do.
void set_one_address(bool is_set) noexcept;
// Makes the n-th allocation from now on fail, counting from 0; -1 for none.
void fail_allocation(int n) noexcept;
// Makes the n-th host call from now on fail with the error, counting from 0; -1 for none. If the error `stays`, all
// later calls fail too, until this function is called again. Failing calls still free and destroy what they should.
void fail_call(int n, cudaError_t error, bool stays) noexcept;
// Host calls since the last fail_call().
int calls() noexcept;
// Allocations and registrations of host memory that have not been freed. Checks the guards of all of them.
std::size_t live_allocations() noexcept;
std::size_t live_streams() noexcept;
std::size_t live_events() noexcept;
// How many times a stream has been told to wait for an event so far.
std::size_t stream_waits() noexcept;
// Kernels launched on the legacy default stream so far.
std::size_t legacy_launches() noexcept;
// From now on, counts how many times memory that contains these bytes is freed. `size` is at most 64; 0 counts none.
void watch(const void* bytes, std::size_t size) noexcept;
std::size_t watched_frees() noexcept;
// For launches: returns the error with which the call itself fails, if it does.
cudaError_t begin_launch(cudaStream_t stream) noexcept;

}  // namespace cleave::cuda::emulator

const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value);
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaMalloc(void** memory, std::size_t size);
cudaError_t cudaFree(void* memory);
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t size);
cudaError_t cudaMallocFromPoolAsync(void** memory, std::size_t size, cudaMemPool_t pool, cudaStream_t stream);
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream);
cudaError_t cudaHostAlloc(void** memory, std::size_t size, unsigned flags);
cudaError_t cudaFreeHost(void* memory);
// Refuses memory of which a part is registered.
cudaError_t cudaHostRegister(void* memory, std::size_t size, unsigned flags);
cudaError_t cudaHostUnregister(void* memory);
cudaError_t cudaMemGetInfo(std::size_t* free_size, std::size_t* total_size);
// Finds cuMemGetAddressRange alone.
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                             unsigned long long flags, cudaDriverEntryPointQueryResult* found);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory);
// For the start of memory from cudaMalloc(). The process that opens it gets a copy of its contents at that moment.
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* memory);
cudaError_t cudaIpcOpenMemHandle(void** memory, cudaIpcMemHandle_t handle, unsigned flags);
cudaError_t cudaIpcCloseMemHandle(void* memory);
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t size, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* at, int byte, std::size_t size, cudaStream_t stream);
// NOLINTEND
