// A row of RecordBlock: plain data, which kernels and devices use too.
#pragma once

#include <cstdint>

namespace cleave {

// A record: where it begins, and how many fields of the block end before it.
struct FieldRow {
    std::uint32_t begin;
    std::uint32_t first;
};

}  // namespace cleave
