// The streams of a card. They are destroyed with this object and not earlier, because memory records the stream on
// which it was last used and may outlive the user of the stream. An idle stream is reused for the next request.
#pragma once

#include <cuda_runtime.h>

#include <vector>

#include "base/mutex.h"

namespace cleave::cuda {

// Thread-safe.
class Streams {
public:
    explicit Streams(int card) noexcept : card_(card) {}
    Streams(const Streams&) = delete;
    Streams& operator=(const Streams&) = delete;
    ~Streams();

    int card() const noexcept { return card_; }

    // A stream that does not wait for the legacy default stream. Precondition: the card is current.
    cudaError_t take(cudaStream_t& stream) noexcept;
    // Precondition: all work on the stream is done.
    void put_back(cudaStream_t stream) noexcept;

private:
    const int card_;
    Mutex mutex_;
    std::vector<cudaStream_t> all_ CLEAVE_GUARDED_BY(mutex_);
    std::vector<cudaStream_t> idle_ CLEAVE_GUARDED_BY(mutex_);  // has capacity for all
};

}  // namespace cleave::cuda
