// A row of RecordBlock. Plain data, for kernels and devices too.
#pragma once

#include <cstdint>

namespace cleave {

// A record: where it begins, and how many fields end before it.
struct FieldRow {
    std::uint32_t begin;
    std::uint32_t first;
};

}  // namespace cleave
