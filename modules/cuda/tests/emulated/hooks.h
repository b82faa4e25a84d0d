// Lets a test control the emulated CUDA inside a module that it has loaded, with functions of cuda_runtime.h and
// cuda_host.h in this folder, under the same names.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cleave::cuda {

struct EmulatorHooks {
    void (*set_seed)(std::uint64_t seed);
    void (*set_machine)(int driver, int cards, std::size_t memory);
    void (*fail_allocation)(int n);
    void (*fail_call)(int n, int error, bool stays);
    int (*calls)();
    std::size_t (*launches)();
    std::size_t (*legacy_launches)();
    std::size_t (*live_allocations)();
    std::size_t (*live_streams)();
    std::size_t (*live_events)();
    void (*watch)(const void* bytes, std::size_t size);
    std::size_t (*watched_frees)();
};

// The name under which the module exports them.
constexpr const char* kEmulatorHooks = "cleave_emulator_hooks";

}  // namespace cleave::cuda
