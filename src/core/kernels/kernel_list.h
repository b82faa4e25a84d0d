// The kernels of this build, in order of preference.
#pragma once

#include <span>

#include "core/kernels/kernel.h"

namespace cleave {

struct KernelRow {
    const Kernel* kernel;
    bool (*runs_here)();  // whether this machine has its instructions
};

// All rows exist for as long as the program.
std::span<const KernelRow> kernel_rows() noexcept;

// Whether this machine has a fast PDEP. AMD's processors before Zen 3 take up to a hundred cycles for one.
bool deposits_fast() noexcept;

// The first kernel that runs on this machine. There always is one.
const Kernel& preferred_kernel() noexcept;

}  // namespace cleave
