// The loop to beat, rebuilt from its published description of 2021: SSE2, quotes counted with popcnt, bytes one by one
// where a block has both quotes and newlines ("3 GB/s"). Every quote toggles; there is no other rule.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cleave {

struct NewlineCounts {
    std::uint64_t outside;  // newlines outside quotes, if the range begins outside; inside, if it begins inside
    std::uint64_t all;
    bool flips;  // the range has an odd number of quotes
};

NewlineCounts count_newlines_2021(const std::uint8_t* data, std::size_t size) noexcept;

}  // namespace cleave
