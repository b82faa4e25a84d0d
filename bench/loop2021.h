// A counting loop rebuilt from its published description: José Muñoz, "Splitting CSV files at 3GB/s", Tinybird, 14
// December 2021 (https://www.tinybird.co/blog-posts/simd). It uses SSE2, counts quotes with popcnt, and goes byte by
// byte through blocks that have both quotes and newlines. Every quote toggles the state; nothing else does. The code is
// ours, so this measures the loop, not the author's program. With an escape, a block with an escape goes byte by byte
// too.
//
// The article came to it in steps, which it measured: a state machine in Python, the same in C, a loop within the loop
// for quoted fields, and the blocks of 16 bytes. bench/ladder.py is the first of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cleave {

struct NewlineCounts {
    std::uint64_t outside;  // newlines outside quotes if the range begins outside; inside quotes if it begins inside
    std::uint64_t all;
    bool flips;  // the range has an odd number of quotes
};

NewlineCounts count_newlines_2021(const std::uint8_t* data, std::size_t size, bool has_escape = false) noexcept;

// The newlines outside quotes, by the steps before it. The range begins outside quotes.
std::uint64_t count_by_states_2021(const std::uint8_t* data, std::size_t size, bool has_escape) noexcept;
std::uint64_t count_by_nested_loops_2021(const std::uint8_t* data, std::size_t size, bool has_escape) noexcept;

}  // namespace cleave
