// What the devices do in both examples: apply a function to each element, with Thrust (element_wise.cu) or, on
// simulated devices, in a plain loop (element_wise.cpp).
#pragma once

#include <cmath>
#include <cstddef>

#ifdef __CUDACC__
#define BOTH __host__ __device__
#else
#define BOTH
#endif

enum class Operation { kArcsin, kSquareRoot, kMultiply };

BOTH inline double apply(Operation operation, double x, double y) {
    return operation == Operation::kArcsin ? std::asin(x) : operation == Operation::kSquareRoot ? std::sqrt(x) : x * y;
}

// Sets out[i] to apply(operation, x[i], y[i]), as work on `stream`.
void run_element_wise(Operation operation, const double* x, const double* y, double* out, std::size_t size,
                      void* stream);

// Sets all numbers of `out` to `value`.
void run_fill(double value, double* out, std::size_t size, void* stream);
