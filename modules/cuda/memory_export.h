// Exports device memory to other processes: export_ipc() of cleave/memory_manager.h, for managers that cannot say where
// an allocation begins, because a library handed out a part of its pool. In Numba's interface, this is
// GetIpcHandleMixin.
//
// A handle of CUDA stands for a whole allocation. So this header asks the driver for the allocation that contains the
// memory (cuMemGetAddressRange), exports that, and adds the offset of the memory in it. It needs nothing else of
// cleave, and no library but CUDA's runtime, version 12 or later: the runtime finds the driver.
#pragma once

#include <cuda_runtime.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cleave/memory_manager.h"

namespace cleave::cuda {

// For cleave_memory_export::process. A process ID identifies a process only within its PID namespace.
inline std::uint32_t this_process() noexcept {
    struct stat space {};
    const ino_t number = ::stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0;
    const std::uint32_t spread = static_cast<std::uint32_t>(number) * 2654435761U;
    const std::uint32_t process = static_cast<std::uint32_t>(::getpid()) ^ spread;
    return process != 0 ? process : 1;
}

// Sets `begin` to the beginning of the allocation that contains `pointer`, which is on the current device.
inline cudaError_t find_allocation(const void* pointer, void*& begin) noexcept {
    using RangeOf = int (*)(void** begin, std::size_t* size, const void* pointer);  // addresses are numbers in C
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    void* function = nullptr;
#if CUDART_VERSION >= 12050
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion("cuMemGetAddressRange", &function, 12000, cudaEnableDefault, &found);
#else
    const cudaError_t error = cudaGetDriverEntryPoint("cuMemGetAddressRange", &function, cudaEnableDefault, &found);
#endif
    if (error != cudaSuccess) return error;
    if (found != cudaDriverEntryPointSuccess) return cudaErrorNotSupported;
    std::size_t size = 0;
    return reinterpret_cast<RangeOf>(function)(&begin, &size, pointer) == 0 ? cudaSuccess : cudaErrorInvalidValue;
}

// Exports `size` bytes of device memory. Returns 0; ENOTSUP for memory that has no handle, because it comes from a
// stream-ordered pool of CUDA or is not on a device; or EIO. A call that fails does not change `exported`. Any device
// may be current, and any thread may call.
inline int export_device_memory(const void* pointer, std::size_t size, cleave_memory_export& exported) noexcept {
    cudaPointerAttributes attributes{};
    cudaDeviceProp properties{};
    cudaIpcMemHandle_t handle;
    void* begin = nullptr;
    int before = 0;
    cudaError_t refused = cudaSuccess;
    cudaError_t error = cudaPointerGetAttributes(&attributes, pointer);
    if (error == cudaSuccess && attributes.type != cudaMemoryTypeDevice) return ENOTSUP;
    if (error == cudaSuccess) error = cudaGetDevice(&before);
    if (error == cudaSuccess) error = cudaSetDevice(attributes.device);  // find_allocation() needs its context
    if (error == cudaSuccess) {
        error = cudaGetDeviceProperties(&properties, attributes.device);
        if (error == cudaSuccess) error = find_allocation(pointer, begin);
        if (error == cudaSuccess) refused = cudaIpcGetMemHandle(&handle, begin);
        cudaSetDevice(before);
    }
    if (error != cudaSuccess || refused != cudaSuccess) {
        cudaGetLastError();  // otherwise the next launch would seem to fail
        return refused == cudaErrorInvalidValue || refused == cudaErrorNotSupported ? ENOTSUP : EIO;
    }
    static_assert(sizeof handle <= sizeof exported.handle);
    exported = {};
    std::memcpy(exported.handle, &handle, sizeof handle);
    exported.handle_size = sizeof handle;
    exported.process = this_process();
    exported.offset = static_cast<std::uint64_t>(static_cast<const char*>(pointer) - static_cast<const char*>(begin));
    exported.size = size;
    std::memcpy(exported.device, &properties.uuid, sizeof exported.device);
    return 0;
}

}  // namespace cleave::cuda
