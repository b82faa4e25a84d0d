#include <thrust/execution_policy.h>
#include <thrust/fill.h>
#include <thrust/transform.h>

#include "element_wise.h"

void run_element_wise(Operation operation, const double* x, const double* y, double* out, std::size_t size,
                      void* stream) {
    thrust::transform(thrust::cuda::par_nosync.on(static_cast<cudaStream_t>(stream)), x, x + size, y, out,
                      [operation] __device__(double a, double b) { return apply(operation, a, b); });
}

void run_fill(double value, double* out, std::size_t size, void* stream) {
    thrust::fill_n(thrust::cuda::par_nosync.on(static_cast<cudaStream_t>(stream)), out, size, value);
}
