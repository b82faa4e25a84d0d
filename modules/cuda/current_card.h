// Makes a card the current CUDA device of this thread for the lifetime of the object.
#pragma once

#include <cuda_runtime.h>

namespace cleave::cuda {

// Does not report errors, because the next CUDA call does.
class CurrentCard {
public:
    explicit CurrentCard(int card) noexcept {
        if (cudaGetDevice(&before_) != cudaSuccess) before_ = card;
        if (before_ != card) cudaSetDevice(card);
    }
    CurrentCard(const CurrentCard&) = delete;
    CurrentCard& operator=(const CurrentCard&) = delete;
    ~CurrentCard() {
        int now = -1;
        if (cudaGetDevice(&now) == cudaSuccess && now != before_) cudaSetDevice(before_);
    }

private:
    int before_ = 0;
};

}  // namespace cleave::cuda
