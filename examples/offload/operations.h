// The element-wise functions of both libraries of numbers: numbers.h, for the CPU, and device.h.
#pragma once

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define BOTH __host__ __device__
#else
#define BOTH
#endif

namespace numbers {

enum class Operation : std::uint8_t {
    kLog,
    kExp,
    kErf,
    kSin,
    kCos,
    kArcsin,
    kSqrt,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide
};

constexpr const char* kNames[] = {"log",  "exp", "erf",      "sin",      "cos",   "arcsin",
                                  "sqrt", "add", "subtract", "multiply", "divide"};

template <Operation kOperation>
struct Operator {
    BOTH double operator()(double x, [[maybe_unused]] double y) const {
        if constexpr (kOperation == Operation::kLog) return ::log(x);
        if constexpr (kOperation == Operation::kExp) return ::exp(x);
        if constexpr (kOperation == Operation::kErf) return ::erf(x);
        if constexpr (kOperation == Operation::kSin) return ::sin(x);
        if constexpr (kOperation == Operation::kCos) return ::cos(x);
        if constexpr (kOperation == Operation::kArcsin) return ::asin(x);
        if constexpr (kOperation == Operation::kSqrt) return ::sqrt(x);
        if constexpr (kOperation == Operation::kAdd) return x + y;
        if constexpr (kOperation == Operation::kSubtract) return x - y;
        if constexpr (kOperation == Operation::kMultiply) return x * y;
        if constexpr (kOperation == Operation::kDivide) return x / y;
    }
};

// Calls then(f), where f(x, y) is the operation.
template <class Then>
void with_operation(Operation operation, Then then) {
    switch (operation) {
        case Operation::kLog: return then(Operator<Operation::kLog>());
        case Operation::kExp: return then(Operator<Operation::kExp>());
        case Operation::kErf: return then(Operator<Operation::kErf>());
        case Operation::kSin: return then(Operator<Operation::kSin>());
        case Operation::kCos: return then(Operator<Operation::kCos>());
        case Operation::kArcsin: return then(Operator<Operation::kArcsin>());
        case Operation::kSqrt: return then(Operator<Operation::kSqrt>());
        case Operation::kAdd: return then(Operator<Operation::kAdd>());
        case Operation::kSubtract: return then(Operator<Operation::kSubtract>());
        case Operation::kMultiply: return then(Operator<Operation::kMultiply>());
        case Operation::kDivide: return then(Operator<Operation::kDivide>());
    }
}

}  // namespace numbers
