// The CPU version of native/cuda_primitives.h.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace cleave::cuda {

inline std::uint8_t* block_memory() { return emulator::block_memory(); }
inline void copy_16_async(std::uint8_t* shared, const std::uint8_t* global) { emulator::copy_16_async(shared, global); }
inline void end_copy_group() { emulator::end_copy_group(); }
template <int kPending>
void wait_for_copies() {
    emulator::wait_for_copies(kPending);
}

inline std::uint64_t load_relaxed(const std::uint64_t* word) {
    emulator::wait_a_turn();
    return *word;
}

inline void store_relaxed(std::uint64_t* word, std::uint64_t value) {
    emulator::pause();
    *word = value;
}

inline void store_report(std::uint64_t* word, std::uint64_t value) { *word = value; }

inline std::uint32_t sum_of_warp(std::uint32_t value) {
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(~0U, value, distance);
    return value;
}

inline std::uint32_t add_from_below(std::uint32_t value, std::uint32_t distance) {
    const std::uint32_t other = __shfl_up_sync(~0U, value, distance);
    return threadIdx.x % 32 >= distance ? value + other : value;
}

inline void pause_briefly() { emulator::wait_a_turn(); }

}  // namespace cleave::cuda
