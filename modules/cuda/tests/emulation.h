// Tests run both with the emulated CUDA and on a device. This header hides the differences.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace cleave::cuda {

#ifdef CLEAVE_CUDA_EMULATED
constexpr bool kIsEmulated = true;
// Whether all is tried, as in a thorough run of tests/unit/support/inputs.h.
inline bool is_thorough() {
    const char* const rounds = std::getenv("CLEAVE_TEST_ROUNDS");  // NOLINT(concurrency-mt-unsafe): nobody sets it
    return rounds != nullptr && std::strtol(rounds, nullptr, 10) >= 100;
}
inline const std::uint64_t kSeeds = is_thorough() ? 6 : 1;  // the number of orders in which to run fibers
inline void set_seed(std::uint64_t seed) { emulator::set_seed(seed); }
inline void fail_allocation(int n) { emulator::fail_allocation(n); }
inline void fail_call(int n) { emulator::fail_call(n, cudaErrorIllegalAddress, false); }
inline void set_all_at_once(bool is_set) { emulator::set_all_at_once(is_set); }
inline void set_processors(int count) { emulator::set_processors(count); }
inline std::size_t live_allocations() { return emulator::live_allocations(); }
inline std::size_t launches() { return emulator::launches(); }
inline std::size_t live_events() { return emulator::live_events(); }
inline std::size_t live_streams() { return emulator::live_streams(); }
inline std::size_t stream_waits() { return emulator::stream_waits(); }
#else
constexpr bool kIsEmulated = false;
inline bool is_thorough() { return true; }
constexpr std::uint64_t kSeeds = 1;
inline void set_seed(std::uint64_t) {}
void fail_allocation(int n);  // allocations.cpp
inline void fail_call(int) {}
inline void set_all_at_once(bool) {}
inline void set_processors(int) {}
std::size_t live_allocations();  // allocations.cpp
inline std::size_t launches() { return 0; }
inline std::size_t live_events() { return 0; }
inline std::size_t live_streams() { return 0; }
inline std::size_t stream_waits() { return 0; }
#endif

}  // namespace cleave::cuda
