// The kernels: the scan compiled for each instruction set, and the choice between them at run time.
#pragma once

#include <string_view>
#include <vector>

namespace cleave {

// The scan for one instruction set. Immutable; exists for as long as the program; any thread may use it.
struct Kernel;

// The kernels that can run on this machine, in order of preference.
std::vector<const Kernel*> available_kernels();

// The names of all kernels, whether or not they can run on this machine, in order of preference.
std::vector<std::string_view> kernel_names();

// "scalar", "sse2", "avx2", "avx512" or "neon".
std::string_view kernel_name(const Kernel& kernel);

// The kernel with that name. Throws ArgumentError, with the names to choose from, if this machine has none.
const Kernel& kernel_by_name(std::string_view name);

// The kernel named by the environment variable CLEAVE_KERNEL, or the preferred one if that is unset or empty. Throws
// what kernel_by_name() throws.
const Kernel& default_kernel();

}  // namespace cleave
