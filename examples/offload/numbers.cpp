#include "numbers.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "parallel.h"

// The loops are compiled for several generations of CPUs, and the fastest that runs is chosen when the program starts.
// Sanitizers cannot instrument that choice.
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define VECTORS [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define VECTORS
#endif

namespace numbers {
namespace {

VECTORS void compute_part(Operation operation, const double* x, const double* y, double* out, std::uint64_t size) {
    with_operation(operation, [=](auto function) {
        for (std::uint64_t i = 0; i < size; ++i) out[i] = function(x[i], y[i]);
    });
}

VECTORS void compute_part(Operation operation, const double* x, double y, double* out, std::uint64_t size) {
    with_operation(operation, [=](auto function) {
        for (std::uint64_t i = 0; i < size; ++i) out[i] = function(x[i], y);
    });
}

}  // namespace

std::shared_ptr<void> allocate_bytes(std::uint64_t size) {
    constexpr std::uint64_t kAlignment = 64;
    void* const block = std::aligned_alloc(kAlignment, (size / kAlignment + 1) * kAlignment);
    if (block == nullptr) throw std::bad_alloc();
    return {block, &std::free};
}

void copy_bytes(void* to, const void* from, std::uint64_t size) {
    in_parallel(size, [=](std::uint64_t begin, std::uint64_t end) {
        std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, end - begin);
    });
}

Numbers full(std::uint64_t size, double value) {
    Numbers made = make_column<double>(size);
    in_parallel(size,
                [&](std::uint64_t begin, std::uint64_t end) { std::fill(made.data + begin, made.data + end, value); });
    return made;
}

Numbers compute(Operation operation, const Numbers& x, const Numbers& y) {
    Numbers made = make_column<double>(x.size);
    in_parallel(x.size, [&](std::uint64_t begin, std::uint64_t end) {
        compute_part(operation, x.data + begin, y.data + begin, made.data + begin, end - begin);
    });
    return made;
}

Numbers compute(Operation operation, const Numbers& x, double y) {
    Numbers made = make_column<double>(x.size);
    in_parallel(x.size, [&](std::uint64_t begin, std::uint64_t end) {
        compute_part(operation, x.data + begin, y, made.data + begin, end - begin);
    });
    return made;
}

}  // namespace numbers
