// Loops on a device: one CUDA thread for each element, or for every element at a distance of the grid's size.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace numbers::device {

template <class Body>
__global__ void each_kernel(std::uint64_t count, Body body) {
    const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) body(i);
}

// Calls body(i) for each i below `count`.
template <class Body>
void each(std::uint64_t count, Body body, void* stream) {
    if (count == 0) return;
    constexpr std::uint64_t kThreads = 256;
    constexpr std::uint64_t kMostBlocks = std::uint64_t{1} << 16;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3{static_cast<unsigned>(std::min((count + kThreads - 1) / kThreads, kMostBlocks)), 1, 1};
    config.blockDim = dim3{kThreads, 1, 1};
    config.stream = static_cast<cudaStream_t>(stream);
    cudaLaunchKernelEx(&config, &each_kernel<Body>, count, body);
}

}  // namespace numbers::device
