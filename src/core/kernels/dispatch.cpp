// What the library's callers see of the kernels. The choice between them is made once per run, never per block.
#include <cstdlib>
#include <string>

#include "cleave/error.h"
#include "cleave/kernel.h"
#include "core/kernels/kernel.h"
#include "core/kernels/kernel_list.h"

namespace cleave {

static_assert(sizeof(void*) == 8, "cleave needs 64-bit sizes");

std::vector<const Kernel*> available_kernels() {
    std::vector<const Kernel*> kernels;
    for (const KernelRow& row : kernel_rows()) {
        if (row.runs_here()) kernels.push_back(row.kernel);
    }
    return kernels;
}

std::vector<std::string_view> kernel_names() {
    std::vector<std::string_view> names;
    for (const KernelRow& row : kernel_rows()) names.emplace_back(row.kernel->name);
    return names;
}

std::string_view kernel_name(const Kernel& kernel) { return kernel.name; }

const Kernel& kernel_by_name(std::string_view name) {
    std::string names;
    for (const Kernel* kernel : available_kernels()) {
        if (kernel->name == name) return *kernel;
        names += names.empty() ? "" : ", ";
        names += kernel->name;
    }
    throw ArgumentError("no kernel '" + std::string(name) + "' on this machine; there are: " + names);
}

const Kernel& default_kernel() {
    const char* name = std::getenv("CLEAVE_KERNEL");
    return name != nullptr && *name != '\0' ? kernel_by_name(name) : *available_kernels().front();
}

}  // namespace cleave
