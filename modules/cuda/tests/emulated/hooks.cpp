#include "hooks.h"

#include <cuda_runtime.h>

using namespace cleave::cuda::emulator;

extern "C" __attribute__((visibility("default"))) const cleave::cuda::EmulatorHooks cleave_emulator_hooks{
    [](std::uint64_t seed) { set_seed(seed); },
    [](int driver, int cards, std::size_t memory) { set_machine(driver, cards, memory); },
    [](int n) { fail_allocation(n); },
    [](int n, int error, bool stays) { fail_call(n, static_cast<cudaError_t>(error), stays); },
    [] { return calls(); },
    [] { return launches(); },
    [] { return legacy_launches(); },
    [] { return live_allocations(); },
    [] { return live_streams(); },
    [] { return live_events(); },
    [](const void* bytes, std::size_t size) { watch(bytes, size); },
    [] { return watched_frees(); }};
