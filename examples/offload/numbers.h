// A plain library of columns of numbers, as it was before anyone thought of a GPU. Every function computes at once, on
// all cores and with vectors. array.h annotates it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "operations.h"

namespace numbers {

enum class Place : std::uint8_t { kOrdinary, kPinned, kDevice };

// A part of a block of values. Copies are views of the same block.
template <class T>
struct Column {
    std::shared_ptr<T> owner;
    T* data = nullptr;
    std::uint64_t size = 0;
    Place place = Place::kOrdinary;

    std::uint64_t bytes() const { return size * sizeof(T); }
    std::span<T> values() const { return {data, size}; }  // not for columns on a device
    Column part(std::uint64_t begin, std::uint64_t end) const { return {owner, data + begin, end - begin, place}; }
};

using Numbers = Column<double>;

std::shared_ptr<void> allocate_bytes(std::uint64_t size);

template <class T>
Column<T> make_column(std::uint64_t size) {
    const std::shared_ptr<void> block = allocate_bytes(size * sizeof(T));
    return {std::static_pointer_cast<T>(block), static_cast<T*>(block.get()), size};
}

// Copies with all cores.
void copy_bytes(void* to, const void* from, std::uint64_t size);

Numbers full(std::uint64_t size, double value);
Numbers compute(Operation operation, const Numbers& x, const Numbers& y);
Numbers compute(Operation operation, const Numbers& x, double y);

inline Numbers log(const Numbers& x) { return compute(Operation::kLog, x, 0); }
inline Numbers exp(const Numbers& x) { return compute(Operation::kExp, x, 0); }
inline Numbers erf(const Numbers& x) { return compute(Operation::kErf, x, 0); }
inline Numbers sin(const Numbers& x) { return compute(Operation::kSin, x, 0); }
inline Numbers cos(const Numbers& x) { return compute(Operation::kCos, x, 0); }
inline Numbers arcsin(const Numbers& x) { return compute(Operation::kArcsin, x, 0); }
inline Numbers sqrt(const Numbers& x) { return compute(Operation::kSqrt, x, 0); }
template <class Y>
Numbers operator+(const Numbers& x, const Y& y) {
    return compute(Operation::kAdd, x, y);
}
template <class Y>
Numbers operator-(const Numbers& x, const Y& y) {
    return compute(Operation::kSubtract, x, y);
}
template <class Y>
Numbers operator*(const Numbers& x, const Y& y) {
    return compute(Operation::kMultiply, x, y);
}
template <class Y>
Numbers operator/(const Numbers& x, const Y& y) {
    return compute(Operation::kDivide, x, y);
}

}  // namespace numbers
