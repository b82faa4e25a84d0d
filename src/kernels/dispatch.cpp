// The list of kernels and the choice between them: once a run, never a block.
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "cleave/kernel.h"
#include "kernels/kernel.h"

namespace cleave {

extern const Kernel kScalarKernel;
extern const Kernel kSse2Kernel;
extern const Kernel kAvx2Kernel;
extern const Kernel kAvx512Kernel;

namespace {

bool always() { return true; }

bool has_avx2() {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("pclmul");
}

bool has_avx512() { return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"); }

struct Entry {
    const Kernel* kernel;
    bool (*runs_here)();
};

// One row a kernel, the widest first.
constexpr Entry kEntries[] = {
    {&kAvx512Kernel, has_avx512},
    {&kAvx2Kernel, has_avx2},
    {&kSse2Kernel, always},
    {&kScalarKernel, always},
};

}  // namespace

std::vector<const Kernel*> available_kernels() {
    std::vector<const Kernel*> kernels;
    for (const Entry& entry : kEntries) {
        if (entry.runs_here()) kernels.push_back(entry.kernel);
    }
    return kernels;
}

std::string_view kernel_name(const Kernel& kernel) { return kernel.name; }

const Kernel& kernel_by_name(std::string_view name) {
    std::string names;
    for (const Kernel* kernel : available_kernels()) {
        if (kernel->name == name) return *kernel;
        names += names.empty() ? "" : ", ";
        names += kernel->name;
    }
    throw std::invalid_argument("no kernel '" + std::string(name) + "' on this machine; there are: " + names);
}

const Kernel& default_kernel() {
    const char* name = std::getenv("CLEAVE_KERNEL");
    return name != nullptr && *name != '\0' ? kernel_by_name(name) : *available_kernels().front();
}

}  // namespace cleave
