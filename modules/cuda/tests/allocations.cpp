// Allocations on a device that are counted and fail on demand: the linker makes the tests call these functions in place
// of the runtime's (--wrap).
#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>

#include "cuda/tests/emulation.h"

namespace {

std::atomic<int> failing = -1;  // allocations until the one that fails
std::atomic<std::size_t> live = 0;

bool fails_now() { return failing >= 0 && failing-- == 0; }

cudaError_t allocated(cudaError_t error) {
    if (error == cudaSuccess) ++live;
    return error;
}

// Freeing nullptr succeeds too.
cudaError_t freed(cudaError_t error, const void* memory) {
    if (error == cudaSuccess && memory != nullptr) --live;
    return error;
}

}  // namespace

namespace cleave::cuda {

void fail_allocation(int n) { failing = n; }
std::size_t live_allocations() { return live; }

}  // namespace cleave::cuda

// The linker dictates these names.
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming)
extern "C" {
cudaError_t __real_cudaMalloc(void** memory, std::size_t size);
cudaError_t __real_cudaMallocFromPoolAsync(void** memory, std::size_t size, cudaMemPool_t pool, cudaStream_t stream);
cudaError_t __real_cudaHostAlloc(void** memory, std::size_t size, unsigned flags);
cudaError_t __real_cudaFree(void* memory);
cudaError_t __real_cudaFreeAsync(void* memory, cudaStream_t stream);
cudaError_t __real_cudaFreeHost(void* memory);

cudaError_t __wrap_cudaMalloc(void** memory, std::size_t size) {
    return fails_now() ? cudaErrorMemoryAllocation : allocated(__real_cudaMalloc(memory, size));
}
cudaError_t __wrap_cudaMallocFromPoolAsync(void** memory, std::size_t size, cudaMemPool_t pool, cudaStream_t stream) {
    return fails_now() ? cudaErrorMemoryAllocation
                       : allocated(__real_cudaMallocFromPoolAsync(memory, size, pool, stream));
}
cudaError_t __wrap_cudaHostAlloc(void** memory, std::size_t size, unsigned flags) {
    return fails_now() ? cudaErrorMemoryAllocation : allocated(__real_cudaHostAlloc(memory, size, flags));
}
cudaError_t __wrap_cudaFree(void* memory) { return freed(__real_cudaFree(memory), memory); }
cudaError_t __wrap_cudaFreeAsync(void* memory, cudaStream_t stream) {
    return freed(__real_cudaFreeAsync(memory, stream), memory);
}
cudaError_t __wrap_cudaFreeHost(void* memory) { return freed(__real_cudaFreeHost(memory), memory); }
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
