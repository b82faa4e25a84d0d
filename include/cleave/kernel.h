// The kernels: the scan compiled for each instruction set, and the choice between them at run time.
#pragma once

#include <string_view>
#include <vector>

namespace cleave {

// The scan for one instruction set. Immutable, lives as long as the program, usable from any thread.
struct Kernel;

// The kernels that run on this machine, the one to prefer first.
std::vector<const Kernel*> available_kernels();

// The names of all kernels there are, whether they run on this machine or not, the one to prefer first.
std::vector<std::string_view> kernel_names();

// "scalar", "sse2", "avx2", "avx512" or "neon".
std::string_view kernel_name(const Kernel& kernel);

// The kernel of that name. Throws std::invalid_argument, with the names to choose from, if there is none here.
const Kernel& kernel_by_name(std::string_view name);

// The kernel that the environment variable CLEAVE_KERNEL names, or the preferred one where it is unset or empty.
// Throws as kernel_by_name.
const Kernel& default_kernel();

}  // namespace cleave
