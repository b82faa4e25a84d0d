#include "cuda/device.h"

#include <atomic>
#include <utility>

#include "cuda/managers.h"

namespace cleave::cuda {

// The report is a few bytes that live for as long as the device is in use. A pool would pin a whole region for them.
Device::Device(std::shared_ptr<MemoryManager> manager, cudaStream_t stream)
    : manager_(std::move(manager)), stream_(stream) {
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
    int limit = 0;
    check(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "cudaDeviceGetAttribute");
    shared_limit_ = static_cast<std::size_t>(limit);
    MemoryRequest request;
    request.size = sizeof(Report);
    request.space = MemorySpace::kMapped;
    request.stream = stream;
    report_ = open_manager("cuda")->allocate(request);
    make_words(kFewWords);
}

// A size is a single word below kNoReport, so it needs no ordering with other memory. A kernel that fails does not
// report, but the stream does. The stream is queried rarely, because a query can take longer than a kernel.
std::uint64_t Device::wait_for_report() {
    constexpr int kReadsBetween = 4096;
    const std::atomic_ref<std::uint64_t> size(report()->size);
    while (true) {
        for (int i = 0; i < kReadsBetween; ++i) {
            if (const std::uint64_t found = size.load(std::memory_order_acquire); found != kNoReport) return found;
        }
        if (const cudaError_t error = cudaStreamQuery(stream_); error != cudaErrorNotReady) {
            check(error, "cudaStreamQuery");
            if (size.load(std::memory_order_acquire) == kNoReport)
                throw CudaError("a kernel that reports", cudaErrorInvalidValue);
        }
    }
}

// Like the report, the words live for as long as the device is in use.
void Device::make_words(std::size_t count) {
    MemoryRequest request;
    request.size = 2 * count * sizeof(std::uint64_t);
    request.space = MemorySpace::kDevice;
    request.flags = CLEAVE_MEMORY_ZEROED;
    request.stream = stream_;
    words_ = open_manager("cuda")->allocate(request);
    words_room_ = count;
    words_used_ = 0;
    are_words_swapped_ = false;
}

TileWords Device::tile_words(std::size_t count) {
    if (count > words_room_) make_words(count + count / 2);
    auto* const first = reinterpret_cast<std::uint64_t*>(words_.data());
    auto* const second = first + words_room_;
    const auto used = static_cast<std::uint32_t>(words_used_);
    return are_words_swapped_ ? TileWords{second, first, used} : TileWords{first, second, used};
}

void Device::keep_words(std::size_t count) noexcept {
    words_used_ = count;
    are_words_swapped_ = !are_words_swapped_;
}

Memory Device::allocate(std::size_t size, std::uint32_t flags) {
    MemoryRequest request;
    request.size = size;
    request.space = MemorySpace::kDevice;
    request.flags = flags;
    request.stream = stream_;
    return manager_->allocate(request);
}

}  // namespace cleave::cuda
