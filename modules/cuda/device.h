// A device in use: its stream, its memory manager, its limits, and how kernels are launched on it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cleave/memory.h"
#include "cuda/error.h"

namespace cleave::cuda {

// What a kernel reports to the host without a copy, in host memory that the device writes.
struct Report {
    std::uint64_t size;  // bytes of the new column
};

// Words that the blocks of a kernel share. There are two arrays, which kernels use in turn. All words of `now` are 0
// when the kernel starts, and it sets the first `other_count` words of `other` to 0 for the next kernel.
struct TileWords {
    std::uint64_t* now;
    std::uint64_t* other;
    std::uint32_t other_count;
};

// Hears where kernels, copies and named ranges begin and end, in the order of the stream, for profiles. Each begins
// inside the last one that has not ended. What it throws passes through.
class Observer {
public:
    // One of them is null.
    virtual void begin(const char* name, const void* kernel) = 0;
    virtual void end() = 0;

protected:
    ~Observer() = default;
};

// Used by one thread at a time.
class Device {
public:
    // Works on the current CUDA device. All memory for columns comes from `manager`. The caller owns the stream, which
    // must outlive this object. Throws CudaError and MemoryError.
    explicit Device(std::shared_ptr<MemoryManager> manager, cudaStream_t stream = nullptr);

    cudaStream_t stream() const noexcept { return stream_; }
    // Sets the stream for later work. Precondition: the previous stream has no work left.
    void set_stream(cudaStream_t stream) noexcept { stream_ = stream; }
    // The maximum shared memory of a block, in bytes.
    std::size_t shared_limit() const noexcept { return shared_limit_; }
    // None by default. The caller owns it.
    Observer* observer() const noexcept { return observer_; }
    void set_observer(Observer* observer) noexcept { observer_ = observer; }
    // How many bytes a column may have before it becomes large. Tests lower it.
    std::uint64_t small_limit() const noexcept { return small_limit_; }
    void set_small_limit(std::uint64_t limit) noexcept { small_limit_ = limit; }
    Report* report() const noexcept { return reinterpret_cast<Report*>(report_.data()); }
    // Call before launching a kernel that reports a size.
    void expect_report() noexcept { report()->size = kNoReport; }
    // Waits until the kernel has reported, and returns the size. The kernel may still be running. Throws CudaError.
    std::uint64_t wait_for_report();

    // Words for the next kernel, at least `count` of each kind. After this, launch the kernel on the stream, and then
    // call keep_words(). Throws MemoryError and CudaError.
    TileWords tile_words(std::size_t count);
    void keep_words(std::size_t count) noexcept;

    // Device memory that belongs to the stream. Throws MemoryError.
    Memory allocate(std::size_t size, std::uint32_t flags = 0);
    // Copies within the device, in the order of the stream. Throws CudaError.
    void copy(void* to, const void* from, std::size_t size) {
        if (observer_ != nullptr) observer_->begin("copy", nullptr);
        check(cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToDevice, stream_), "cudaMemcpyAsync");
        if (observer_ != nullptr) observer_->end();
    }
    // Waits for all work on the stream.
    void wait() { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

    // How many blocks of the kernel can run at the same time, at least one. Call before the first launch of a kernel
    // with more than 48 KiB of shared memory, because this raises the kernel's limit to the device's. Queries CUDA once
    // per kernel and size.
    template <class... P>
    int blocks_at_once(void (*kernel)(P...), int threads, std::size_t shared) {
        const auto key = reinterpret_cast<const void*>(kernel);
        bool is_known = false;
        for (const Known& known : known_) {
            if (known.kernel != key) continue;
            if (known.shared == shared) return known.blocks;
            is_known = true;
        }
        // Once is enough: a launch may have any size up to the limit.
        if (!is_known) {
            check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(shared_limit_)),
                  "cudaFuncSetAttribute");
        }
        int each = 0;
        check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, shared),
              "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
        const int blocks = (each > 0 ? each : 1) * processors_;
        known_.push_back({key, shared, blocks});
        return blocks;
    }

    template <class... P, class... A>
    void launch(void (*kernel)(P...), unsigned blocks, unsigned threads, std::size_t shared, A&&... arguments) {
        cudaLaunchConfig_t config{};
        config.gridDim = dim3{blocks, 1, 1};
        config.blockDim = dim3{threads, 1, 1};
        config.dynamicSmemBytes = shared;
        config.stream = stream_;
        if (observer_ != nullptr) observer_->begin(nullptr, reinterpret_cast<const void*>(kernel));
        check(cudaLaunchKernelEx(&config, kernel, static_cast<A&&>(arguments)...), "cudaLaunchKernelEx");
        if (observer_ != nullptr) observer_->end();
    }

private:
    static constexpr std::uint64_t kNoReport = UINT64_MAX;
    static constexpr std::size_t kFewWords = 2048;

    void make_words(std::size_t count);

    struct Known {
        const void* kernel;
        std::size_t shared;
        int blocks;
    };

    std::shared_ptr<MemoryManager> manager_;
    cudaStream_t stream_;
    Memory report_;
    Memory words_;                // both arrays
    std::size_t words_room_ = 0;  // words per array
    std::size_t words_used_ = 0;  // words of the second array in use
    bool are_words_swapped_ = false;
    int processors_ = 0;
    std::size_t shared_limit_ = 0;
    std::uint64_t small_limit_ = INT32_MAX;
    std::vector<Known> known_;
    Observer* observer_ = nullptr;
};

}  // namespace cleave::cuda
