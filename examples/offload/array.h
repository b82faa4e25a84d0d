// The library of numbers.h, annotated: the same functions, but of values that may not exist yet and may be on a device.
#pragma once

#include <string>
#include <type_traits>

#include "cleave/experimental/offload.h"
#include "device.h"
#include "numbers.h"
#include "staged_copy.h"

// How a column is moved and cut.
template <class T>
struct cleave::SplitType<numbers::Column<T>> {
    using Column = numbers::Column<T>;

    // A column in memory from a manager.
    static Column own(std::shared_ptr<const Memory> memory, std::uint64_t size, numbers::Place place) {
        T* const data = reinterpret_cast<T*>(memory->data());
        return {std::shared_ptr<T>(std::move(memory), data), data, size, place};
    }
    static Column on_device(DeviceStream& stream, std::uint64_t size) {
        auto memory = std::make_shared<const Memory>(stream.allocate(size * sizeof(T)));
        return own(std::move(memory), size, numbers::Place::kDevice);
    }

    static Side device(const Column& value) {
        return value.place == numbers::Place::kDevice ? Side::kDevice : Side::kHost;
    }
    static std::uint64_t bytes(const Column& value) { return value.bytes(); }
    static bool is_pinned(const Column& value) { return value.place == numbers::Place::kPinned; }
    static Column to(const Column& value, Side side, DeviceStream& stream) {
        if (device(value) == side) return value;
        if (side == Side::kDevice) {
            Column moved = on_device(stream, value.size);
            numbers::copy_in(stream, moved.data, value.data, value.bytes(), is_pinned(value));
            return moved;
        }
        Column moved = own(stream.borrow_host(value.bytes()), value.size, numbers::Place::kOrdinary);
        stream.copy_out(moved.data, value.data, value.bytes());
        return moved;
    }

    static std::uint64_t size(const Column& value) { return value.size; }
    static Column split(const Column& value, std::uint64_t begin, std::uint64_t end) { return value.part(begin, end); }
    static Column merge(std::span<const Column* const> parts, MemoryManager& memory) {
        std::uint64_t size = 0;
        for (const Column* part : parts) size += part->size;
        auto block = std::make_shared<const Memory>(memory.allocate({size * sizeof(T)}));
        Column whole = own(std::move(block), size, numbers::Place::kOrdinary);
        T* at = whole.data;
        for (const Column* part : parts) {
            numbers::copy_bytes(at, part->data, part->bytes());
            at += part->size;
        }
        return whole;
    }
};

namespace numbers {

template <class T>
Column<T> make_on_device(cleave::DeviceStream& stream, std::uint64_t size) {
    return cleave::SplitType<Column<T>>::on_device(stream, size);
}

// Every function here is linear in the bytes. The rates are estimates, in seconds per byte, for a CPU and for a GPU,
// used until they have been measured.
inline cleave::Cost cost_of_loop() {
    return {.host = cleave::Rate{1e-5, 5e-11}, .device = cleave::Rate{0, 1e-12}, .by_parts = true};
}

using LazyNumbers = cleave::Lazy<Numbers>;

// The second argument is a number, or one for each row.
template <Operation kOperation, class Y>
LazyNumbers call(const LazyNumbers& first, const Y& second) {
    constexpr bool kIsNumber = std::is_arithmetic_v<Y>;
    using Argument = std::conditional_t<kIsNumber, double, Numbers>;
    static const auto function = cleave::annotate<Numbers(Numbers, Argument)>(
        std::string(kNames[static_cast<int>(kOperation)]) +
            (kIsNumber && kOperation >= Operation::kAdd ? " number" : ""),
        [](const Numbers& x, const Argument& y) { return compute(kOperation, x, y); },
        [](cleave::DeviceStream& stream, const Numbers& x, const Argument& y) {
            const Numbers made = make_on_device<double>(stream, x.size);
            const double* each = nullptr;
            double number = 0;
            if constexpr (kIsNumber) number = y;
            if constexpr (!kIsNumber) each = y.data;
            stream.run({"element-wise", x.bytes()}, [=, x = x.data, out = made.data, size = x.size](void* native) {
                device::compute(kOperation, x, each, number, out, size, native);
            });
            return made;
        },
        cost_of_loop());
    return function(first, second);
}

inline LazyNumbers log(const LazyNumbers& x) { return call<Operation::kLog>(x, 0); }
inline LazyNumbers exp(const LazyNumbers& x) { return call<Operation::kExp>(x, 0); }
inline LazyNumbers erf(const LazyNumbers& x) { return call<Operation::kErf>(x, 0); }
inline LazyNumbers sin(const LazyNumbers& x) { return call<Operation::kSin>(x, 0); }
inline LazyNumbers cos(const LazyNumbers& x) { return call<Operation::kCos>(x, 0); }
inline LazyNumbers arcsin(const LazyNumbers& x) { return call<Operation::kArcsin>(x, 0); }
inline LazyNumbers sqrt(const LazyNumbers& x) { return call<Operation::kSqrt>(x, 0); }
inline LazyNumbers operator+(const LazyNumbers& x, const auto& y) { return call<Operation::kAdd>(x, y); }
inline LazyNumbers operator-(const LazyNumbers& x, const auto& y) { return call<Operation::kSubtract>(x, y); }
inline LazyNumbers operator*(const LazyNumbers& x, const auto& y) { return call<Operation::kMultiply>(x, y); }
inline LazyNumbers operator/(const LazyNumbers& x, const auto& y) { return call<Operation::kDivide>(x, y); }

}  // namespace numbers

// What programs use besides the functions. Only this namespace differs from that of the plain library.
namespace annotated {

using Numbers = numbers::LazyNumbers;

inline const auto full = cleave::annotate_allocation<numbers::Numbers(std::uint64_t, double)>(
    "full", &numbers::full,
    [](cleave::DeviceStream& stream, std::uint64_t size, double value) {
        const numbers::Numbers made = numbers::make_on_device<double>(stream, size);
        stream.run({"full", 0},
                   [=, out = made.data](void* native) { numbers::device::fill(value, out, size, native); });
        return made;
    },
    cleave::Cost{.unit_bytes = sizeof(double), .by_parts = true});

}  // namespace annotated
