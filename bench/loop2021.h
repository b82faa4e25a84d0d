// A counting loop rebuilt from its published description: José Muñoz, "Splitting CSV files at 3GB/s", Tinybird, 14
// December 2021 (https://www.tinybird.co/blog-posts/simd). It uses SSE2, counts quotes with popcnt, and goes byte by
// byte through blocks that have both quotes and newlines. Every quote toggles the state; nothing else does. The code is
// ours, so this measures the loop, not the author's program.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cleave {

struct NewlineCounts {
    std::uint64_t outside;  // newlines outside quotes if the range begins outside; inside quotes if it begins inside
    std::uint64_t all;
    bool flips;  // the range has an odd number of quotes
};

NewlineCounts count_newlines_2021(const std::uint8_t* data, std::size_t size) noexcept;

}  // namespace cleave
