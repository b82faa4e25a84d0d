// Primitives that kernels need in addition to CUDA's built-in functions: shared memory whose size is set at launch,
// asynchronous copies into it, and 64-bit words that blocks pass to each other. tests/emulated/cuda_primitives.h has
// the CPU versions.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace cleave::cuda {

// The block's dynamic shared memory, aligned to 16 bytes.
__device__ __forceinline__ std::uint8_t* block_memory() {
    extern __shared__ uint4 dynamic_shared_memory[];
    return reinterpret_cast<std::uint8_t*>(dynamic_shared_memory);
}

// Starts copying 16 bytes from global to shared memory. Both addresses must be multiples of 16. The thread sees the
// bytes after wait_for_copies(), other threads after a barrier that follows it.
__device__ __forceinline__ void copy_16_async(std::uint8_t* shared, const std::uint8_t* global) {
    const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
}

// Ends a group of copies.
__device__ __forceinline__ void end_copy_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits for all groups of this thread except the latest `kPending`.
template <int kPending>
__device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// For a word that other blocks write while this one reads it. Not ordered with respect to other memory.
__device__ __forceinline__ std::uint64_t load_relaxed(const std::uint64_t* word) {
    std::uint64_t value = 0;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

__device__ __forceinline__ void store_relaxed(std::uint64_t* word, std::uint64_t value) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

// For a word of host memory that the host reads while the kernel runs.
__device__ __forceinline__ void store_report(std::uint64_t* word, std::uint64_t value) {
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

// Returns the sum over the warp; all its lanes get it.
__device__ __forceinline__ std::uint32_t sum_of_warp(std::uint32_t value) { return __reduce_add_sync(~0U, value); }

// Returns `value`. In lanes from `distance` on, adds the value of the lane that is `distance` below.
__device__ __forceinline__ std::uint32_t add_from_below(std::uint32_t value, std::uint32_t distance) {
    asm volatile(
        "{ .reg .pred p; .reg .u32 other; shfl.sync.up.b32 other|p, %0, %1, 0, 0xFFFFFFFF; @p add.u32 %0, %0, other; }"
        : "+r"(value)
        : "r"(distance));
    return value;
}

// Lets other threads proceed for about 50 ns while this thread waits for them.
__device__ __forceinline__ void pause_briefly() { __nanosleep(50); }

}  // namespace cleave::cuda
