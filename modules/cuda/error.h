// How this module fails: a call of CUDA that failed, or a column that cannot be. Memory that is not there is a
// cleave::MemoryError.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace cleave::cuda {

class CudaError : public std::runtime_error {
public:
    CudaError(const std::string& what, cudaError_t code)
        : std::runtime_error(what + ": " + cudaGetErrorString(code)), code_(code) {}
    cudaError_t code() const noexcept { return code_; }

private:
    cudaError_t code_;
};

// A column would have more bytes than 32-bit offsets can count, 2^31 - 1.
class ColumnTooLarge : public std::length_error {
public:
    using std::length_error::length_error;
};

// Throws CudaError if `code` is not success. `what` names the call.
inline void check(cudaError_t code, const char* what) {
    if (code != cudaSuccess) throw CudaError(what, code);
}

}  // namespace cleave::cuda
