// An annotated library: arrays of numbers, and element-wise functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>

#include "cleave/experimental/offload.h"
#include "element_wise.h"

// A part of a block of numbers, on the host or on a device. Copies are views of the same block.
struct Array {
    std::shared_ptr<const cleave::Memory> memory;
    cleave::Side side = cleave::Side::kHost;
    std::uint64_t begin = 0;
    std::uint64_t size = 0;

    Array(cleave::Memory block, cleave::Side where, std::uint64_t count)
        : memory(std::make_shared<const cleave::Memory>(std::move(block))), side(where), size(count) {}

    std::uint64_t bytes() const { return size * sizeof(double); }
    double* data() const { return reinterpret_cast<double*>(memory->data()) + begin; }
    std::span<double> numbers() const { return {data(), size}; }  // only for arrays on the host

    static Array on_host(cleave::MemoryManager& memory, std::uint64_t size) {
        return {memory.allocate({size * sizeof(double)}), cleave::Side::kHost, size};
    }
    static Array on_device(cleave::DeviceStream& stream, std::uint64_t size) {
        return {stream.allocate(size * sizeof(double)), cleave::Side::kDevice, size};
    }
};

template <>
struct cleave::SplitType<Array> {
    static Side device(const Array& value) { return value.side; }
    static std::uint64_t bytes(const Array& value) { return value.bytes(); }
    static Array to(const Array& value, Side side, DeviceStream& stream) {
        if (side == Side::kDevice) {
            Array moved = Array::on_device(stream, value.size);
            stream.copy_in(moved.data(), value.data(), value.bytes());
            return moved;
        }
        Array moved(stream.allocate_host(value.bytes()), side, value.size);
        stream.copy_out(moved.data(), value.data(), value.bytes());
        return moved;
    }

    static std::uint64_t size(const Array& value) { return value.size; }
    static Array split(const Array& value, std::uint64_t begin, std::uint64_t end) {
        Array part = value;
        part.begin += begin;
        part.size = end - begin;
        return part;
    }
    static Array merge(std::span<const Array* const> parts, MemoryManager& memory) {
        std::uint64_t size = 0;
        for (const Array* part : parts) size += part->size;
        Array whole = Array::on_host(memory, size);
        double* at = whole.data();
        for (const Array* part : parts) at = std::ranges::copy(part->numbers(), at).out;
        return whole;
    }
};

// Estimates, in seconds per byte, for a CPU core and for a GPU. Used until a rate has been measured.
inline cleave::Cost element_wise_cost(double on_host) {
    return {.host = cleave::Rate{0, on_host}, .device = cleave::Rate{0, 1e-12}, .by_parts = true};
}

inline Array element_wise_on_device(cleave::DeviceStream& stream, Operation operation, const Array& x, const Array& y) {
    Array made = Array::on_device(stream, x.size);
    stream.run({"element-wise", x.bytes()}, [=, a = x.data(), b = y.data(), to = made.data(), n = x.size](
                                                void* native) { run_element_wise(operation, a, b, to, n, native); });
    return made;
}

inline cleave::Annotated<Array(Array)> element_wise(const std::string& name, Operation operation, double on_host) {
    return cleave::annotate<Array(Array)>(
        name,
        [operation](cleave::MemoryManager& memory, const Array& x) {
            Array made = Array::on_host(memory, x.size);
            std::ranges::transform(x.numbers(), made.data(), [&](double a) { return apply(operation, a, a); });
            return made;
        },
        [operation](cleave::DeviceStream& stream, const Array& x) {
            return element_wise_on_device(stream, operation, x, x);
        },
        element_wise_cost(on_host));
}

inline const auto arcsin = element_wise("arcsin", Operation::kArcsin, 2e-9);
inline const auto square_root = element_wise("square_root", Operation::kSquareRoot, 5e-10);
inline const auto multiply = cleave::annotate<Array(Array, Array)>(
    "multiply",
    [](cleave::MemoryManager& memory, const Array& x, const Array& y) {
        Array made = Array::on_host(memory, x.size);
        std::ranges::transform(x.numbers(), y.numbers(), made.data(), std::multiplies<>());
        return made;
    },
    [](cleave::DeviceStream& stream, const Array& x, const Array& y) {
        return element_wise_on_device(stream, Operation::kMultiply, x, y);
    },
    element_wise_cost(2e-10));

// Creates an array in which every number is `value`.
inline const auto allocate = cleave::annotate_allocation<Array(std::uint64_t, double)>(
    "allocate",
    [](cleave::MemoryManager& memory, std::uint64_t size, double value) {
        Array made = Array::on_host(memory, size);
        std::ranges::fill(made.numbers(), value);
        return made;
    },
    [](cleave::DeviceStream& stream, std::uint64_t size, double value) {
        Array made = Array::on_device(stream, size);
        stream.run({"allocate", 0}, [=, to = made.data()](void* native) { run_fill(value, to, size, native); });
        return made;
    },
    cleave::Cost{.unit_bytes = sizeof(double), .by_parts = true});
