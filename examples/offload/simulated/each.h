// The same as ../cuda/each.h for a simulated device, on the CPU.
#pragma once

#include <cstdint>

#define __device__

namespace numbers::device {

template <class Body>
void each(std::uint64_t count, Body body, void* /*stream*/) {
    for (std::uint64_t i = 0; i < count; ++i) body(i);
}

}  // namespace numbers::device
