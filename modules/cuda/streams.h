// Streams of a card. They are destroyed with this object, not before: memory says on which stream it was used last, and
// may live longer than the user of the stream. A stream that nobody uses is given to the next one who wants one.
#pragma once

#include <cuda_runtime.h>

#include <vector>

#include "base/mutex.h"

namespace cleave::cuda {

// Any thread may use it.
class Streams {
public:
    explicit Streams(int card) noexcept : card_(card) {}
    Streams(const Streams&) = delete;
    Streams& operator=(const Streams&) = delete;
    ~Streams();

    int card() const noexcept { return card_; }

    // A stream that does not wait for the legacy default stream. The card is current.
    cudaError_t take(cudaStream_t& stream) noexcept;
    // All work of the stream is done.
    void put_back(cudaStream_t stream) noexcept;

private:
    const int card_;
    Mutex mutex_;
    std::vector<cudaStream_t> all_ CLEAVE_GUARDED_BY(mutex_);
    std::vector<cudaStream_t> idle_ CLEAVE_GUARDED_BY(mutex_);  // has room for all
};

}  // namespace cleave::cuda
