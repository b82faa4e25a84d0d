// The errors of this module: a failed CUDA call, or a column that is too large. Running out of memory is a
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

// A column or one of its values would be too large, or has too many rows: see the limits in strings.h.
class ColumnTooLarge : public std::length_error {
public:
    using std::length_error::length_error;
};

// Throws CudaError if `code` is not success. `what` names the call.
inline void check(cudaError_t code, const char* what) {
    if (code != cudaSuccess) throw CudaError(what, code);
}

}  // namespace cleave::cuda
