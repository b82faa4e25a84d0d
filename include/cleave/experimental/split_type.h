// What the runtime of cleave/experimental/offload.h must know about a C++ type: where a value is, how it is
// transferred, and how it is cut into pages and reassembled.
//
// An annotator specialises SplitType<T>. Every member is optional, but device() and to() come together, and so do
// size(), split() and merge():
//
//   template <> struct cleave::SplitType<Column> {
//       // Moving. Without these a value is the same everywhere, as a number is.
//       static Side device(const Column& value);
//       static Column to(const Column& value, Side side, DeviceStream& stream);
//       // The bytes that `to` moves; sizeof(Column) if absent.
//       static std::uint64_t bytes(const Column& value);
//       // Whether the value, which is on the host, is in pinned memory; false if absent. For predicting moves.
//       static bool is_pinned(const Column& value);
//
//       // Paging. A unit is what is never cut: a number, a record. Parts may be views of the value, which outlives
//       // them. size() and split() work wherever the value is; merge() is called for parts on the host.
//       static std::uint64_t size(const Column& value);  // units
//       static Column split(const Column& value, std::uint64_t begin, std::uint64_t end);
//       static Column merge(std::span<const Column* const> parts, MemoryManager& memory);
//   };
//
// A device body may return a value that is on the host. `to` is called for it too, and returns it as it is.
//
// `to` submits its copies to the stream and may return before they are done; the runtime waits for them, and keeps
// `value` until then. Host memory of the result should come from stream.allocate_host(), and the runtime merges or
// copies it. None of these functions should wait for the stream unless it needs something from the device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cleave/experimental/device.h"

namespace cleave {

template <class T>
struct SplitType {};

// For the runtime: values and functions without their types.
namespace offload {

using Value = std::shared_ptr<const void>;

struct TypeOperations {
    bool can_move = false;
    bool can_split = false;
    Side (*side)(const void* value) = nullptr;
    std::uint64_t (*bytes)(const void* value) = nullptr;
    bool (*is_pinned)(const void* value) = nullptr;
    Value (*to)(const void* value, Side side, DeviceStream& stream) = nullptr;
    std::uint64_t (*size)(const void* value) = nullptr;
    Value (*split)(const void* value, std::uint64_t begin, std::uint64_t end) = nullptr;
    Value (*merge)(std::span<const Value> parts, MemoryManager& memory) = nullptr;
};

template <class T>
const T& as(const void* value) {
    return *static_cast<const T*>(value);
}

template <class T>
Value make_value(T&& value) {
    return std::make_shared<const std::remove_cvref_t<T>>(std::forward<T>(value));
}

template <class T>
constexpr TypeOperations make_type_operations() {
    using Split = SplitType<T>;
    TypeOperations made;
    made.side = [](const void*) { return Side::kHost; };
    made.bytes = [](const void*) { return std::uint64_t{sizeof(T)}; };
    made.is_pinned = [](const void*) { return false; };
    if constexpr (requires(const T& value) { Split::bytes(value); }) {
        made.bytes = [](const void* value) -> std::uint64_t { return Split::bytes(as<T>(value)); };
    }
    if constexpr (requires(const T& value) { Split::is_pinned(value); }) {
        made.is_pinned = [](const void* value) -> bool { return Split::is_pinned(as<T>(value)); };
    }
    if constexpr (requires(const T& value, DeviceStream& stream) { Split::to(value, Side::kHost, stream); }) {
        made.can_move = true;
        made.side = [](const void* value) -> Side { return Split::device(as<T>(value)); };
        made.to = [](const void* value, Side side, DeviceStream& stream) {
            return make_value(Split::to(as<T>(value), side, stream));
        };
    }
    if constexpr (requires(const T& value) { Split::split(value, 0, 0); }) {
        made.can_split = true;
        made.size = [](const void* value) -> std::uint64_t { return Split::size(as<T>(value)); };
        made.split = [](const void* value, std::uint64_t begin, std::uint64_t end) {
            return make_value(Split::split(as<T>(value), begin, end));
        };
        made.merge = [](std::span<const Value> parts, MemoryManager& memory) {
            std::vector<const T*> pointers;
            pointers.reserve(parts.size());
            for (const Value& part : parts) pointers.push_back(static_cast<const T*>(part.get()));
            return make_value(Split::merge(std::span<const T* const>(pointers), memory));
        };
    }
    return made;
}

template <class T>
inline constexpr TypeOperations kTypeOperations = make_type_operations<T>();

}  // namespace offload
}  // namespace cleave
