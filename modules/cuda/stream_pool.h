// A memory pool of CUDA, whose memory is allocated and freed in stream order.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "base/mutex.h"
#include "cuda/current_card.h"

namespace cleave::cuda {

// Created on first use, on the device that is current then. It frees memory only when told to. Any thread may use it.
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
        if (const cudaError_t other = trim(); other != cudaSuccess) return other;
        return cudaMallocFromPoolAsync(pointer, size, pool, stream);
    }

    // Gives the memory that is not in use back to the device.
    cudaError_t trim() {
        const MutexLock lock(mutex_);
        if (pool_ == nullptr) return cudaSuccess;
        const CurrentCard current(card_);
        const cudaError_t error = cudaDeviceSynchronize();
        return error != cudaSuccess ? error : cudaMemPoolTrimTo(pool_, 0);
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
            card_ = wanted.location.id;
        }
        return error;
    }

    Mutex mutex_;
    cudaMemPool_t pool_ CLEAVE_GUARDED_BY(mutex_) = nullptr;
    int card_ CLEAVE_GUARDED_BY(mutex_) = 0;  // of the pool
};

}  // namespace cleave::cuda
