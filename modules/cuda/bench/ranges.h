// Named ranges in the published forms: for profilers through NVTX, where its header is installed, and for the observer
// of a device.
#pragma once

#include <cuda_runtime.h>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define CLEAVE_HAS_NVTX 1
#else
#define CLEAVE_HAS_NVTX 0
#endif

#include "cuda/device.h"

namespace cleave::cuda {

// Lasts as long as the object. Precondition: `name` is constant.
class Range {
public:
    Range(Device& device, const char* name) : observer_(device.observer()) {
#if CLEAVE_HAS_NVTX
        nvtxRangePushA(name);
#endif
        if (observer_ != nullptr) observer_->begin(name, nullptr);
    }
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;
    ~Range() {
        if (observer_ != nullptr) observer_->end();
#if CLEAVE_HAS_NVTX
        nvtxRangePop();
#endif
    }

private:
    Observer* const observer_;
};

template <class F>
auto in_range(Device& device, const char* name, F function) {
    const Range range(device, name);
    return function();
}

}  // namespace cleave::cuda
