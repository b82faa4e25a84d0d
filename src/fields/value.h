// The value of a field: what a reader of the file gets, without quotes and escapes around it.
// Compiles for a GPU too: plain data, no standard containers, no exceptions, no allocation.
#pragma once

#include <cstdint>

#include "base/device.h"

namespace cleave {

struct Value {
    const std::uint8_t* data;
    std::uint64_t size;  // in bytes
};

}  // namespace cleave
