// What the conformance suite for memory managers needs from a GPU: see tests/system/memory/device_hooks.h.
//
//   memory_conformance /PATH/cleave_cuda.so:cuda --device=/PATH/cuda_device_hooks.so
#include "device_hooks.h"

#include <cuda_runtime.h>

#include <cerrno>
#include <cstring>

namespace {

int errno_of(cudaError_t error) { return error == cudaSuccess ? 0 : EIO; }

// Waits for the device, because the manager may have filled the memory on any stream.
int write_bytes(void* device, const void* host, std::size_t size) {
    const int error = errno_of(cudaDeviceSynchronize());
    if (error != 0) return error;
    if (cudaMemcpy(device, host, size, cudaMemcpyHostToDevice) != cudaSuccess) return EIO;
    return errno_of(cudaDeviceSynchronize());
}

int read_bytes(void* host, const void* device, std::size_t size) {
    const int error = errno_of(cudaDeviceSynchronize());
    return error != 0 ? error : errno_of(cudaMemcpy(host, device, size, cudaMemcpyDeviceToHost));
}

// The memory must be on the card that this process uses.
int open_ipc(const cleave_memory_export* exported, void** pointer) {
    cudaIpcMemHandle_t handle;
    if (exported->handle_size != sizeof handle) return EINVAL;
    int card = 0;
    cudaDeviceProp properties{};
    if (cudaGetDevice(&card) != cudaSuccess || cudaGetDeviceProperties(&properties, card) != cudaSuccess) return EIO;
    if (std::memcmp(exported->device, properties.uuid.bytes, sizeof exported->device) != 0) return EXDEV;
    std::memcpy(&handle, exported->handle, sizeof handle);
    void* base = nullptr;
    if (cudaIpcOpenMemHandle(&base, handle, cudaIpcMemLazyEnablePeerAccess) != cudaSuccess) return EIO;
    *pointer = static_cast<unsigned char*>(base) + exported->offset;
    return 0;
}

int close_ipc(const cleave_memory_export* exported, void* pointer) {
    return errno_of(cudaIpcCloseMemHandle(static_cast<unsigned char*>(pointer) - exported->offset));
}

int free_size(uint64_t* bytes) {
    std::size_t available = 0;
    std::size_t total = 0;
    const int error = errno_of(cudaMemGetInfo(&available, &total));
    *bytes = available;
    return error;
}

int knows(const void* pointer) {
    cudaPointerAttributes attributes{};
    if (cudaPointerGetAttributes(&attributes, pointer) != cudaSuccess) return cudaGetLastError(), 0;
    return attributes.type != cudaMemoryTypeUnregistered ? 1 : 0;
}

constexpr cleave_device_hooks kHooks{write_bytes, read_bytes, open_ipc, close_ipc, free_size, knows};

}  // namespace

// The exported name is also the name of the type, which C++ does not allow for a function.
extern "C" __attribute__((visibility("default"))) const cleave_device_hooks* hooks() asm(CLEAVE_DEVICE_HOOKS_SYMBOL);
const cleave_device_hooks* hooks() { return &kHooks; }
