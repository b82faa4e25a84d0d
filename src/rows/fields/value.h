// The value of a field: what a reader of the file gets, without quotes and escapes. This also compiles for a GPU: it is
// plain data, without standard containers, exceptions or allocation.
#pragma once

#include <cstdint>

#include "base/device.h"

namespace cleave {

struct Value {
    const std::uint8_t* data;
    std::uint64_t size;  // in bytes
};

}  // namespace cleave
