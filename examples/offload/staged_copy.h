// Copies to a device from ordinary memory: with all cores to pinned memory, and from there. A driver does the same with
// a single core.
#pragma once

#include <algorithm>
#include <array>
#include <memory>

#include "cleave/experimental/device.h"
#include "numbers.h"

namespace numbers {

constexpr std::uint64_t kLeastStaged = std::uint64_t{1} << 20;  // bytes; the driver is as fast with less

// Waits until the copy is done, unless the memory is pinned or small. Throws what DeviceStream does.
inline void copy_in(cleave::DeviceStream& stream, void* to, const void* from, std::uint64_t size, bool is_pinned) {
    if (is_pinned || size < kLeastStaged) return stream.copy_in(to, from, size, is_pinned);
    constexpr std::uint64_t kPart = std::uint64_t{8} << 20;
    std::array<std::shared_ptr<cleave::Memory>, 4> parts;
    std::size_t next = 0;
    for (std::uint64_t begin = 0; begin < size; begin += kPart) {
        if (next == parts.size()) {
            stream.synchronize();  // the parts may be written to again
            next = 0;
        }
        std::shared_ptr<cleave::Memory>& part = parts[next++];
        if (!part) part = stream.borrow_host(kPart);
        const std::uint64_t count = std::min(kPart, size - begin);
        copy_bytes(part->data(), static_cast<const char*>(from) + begin, count);
        stream.copy_in(static_cast<char*>(to) + begin, part->data(), count, true);
    }
    stream.synchronize();
}

}  // namespace numbers
