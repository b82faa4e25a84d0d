#include "cuda/streams.h"

#include <new>

namespace cleave::cuda {

Streams::~Streams() {
    cudaSetDevice(card_);
    for (cudaStream_t stream : all_) cudaStreamDestroy(stream);
}

cudaError_t Streams::take(cudaStream_t& stream) noexcept {
    const MutexLock lock(mutex_);
    if (!idle_.empty()) {
        stream = idle_.back();
        idle_.pop_back();
        return cudaSuccess;
    }
    try {
        all_.reserve(all_.size() + 1);
        idle_.reserve(all_.size() + 1);
    } catch (const std::bad_alloc&) {
        return cudaErrorMemoryAllocation;
    }
    const cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (error == cudaSuccess) all_.push_back(stream);
    return error;
}

void Streams::put_back(cudaStream_t stream) noexcept {
    const MutexLock lock(mutex_);
    idle_.push_back(stream);
}

}  // namespace cleave::cuda
