// The list of kernels and the choice between them: once a run, never a block.
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "cleave/kernel.h"
#include "kernels/kernel.h"

// CLEAVE_CPU_HAS(flag): whether the processor and the system have what "-m" and that flag let the compiler use. The C
// library knows, as it asked the processor (CPUID) when the program was loaded. In a virtual machine each such question
// takes microseconds: those of __builtin_cpu_supports() were a twentieth of a run on a small file.
#if __has_include(<sys/platform/x86.h>) && !defined(__clang__)  // Clang knows no _Bool, which the header has
#include <sys/platform/x86.h>
#endif
#ifdef CPU_FEATURE_ACTIVE  // glibc 2.34

namespace cleave {
namespace {

consteval unsigned feature_of(std::string_view flag) {
    if (flag == "avx2") return x86_cpu_AVX2;
    if (flag == "avx512f") return x86_cpu_AVX512F;
    if (flag == "avx512bw") return x86_cpu_AVX512BW;
    if (flag == "avx512vbmi2") return x86_cpu_AVX512_VBMI2;
    if (flag == "avx512vl") return x86_cpu_AVX512VL;
    if (flag == "avx512vpopcntdq") return x86_cpu_AVX512_VPOPCNTDQ;
    if (flag == "bmi") return x86_cpu_BMI1;
    if (flag == "bmi2") return x86_cpu_BMI2;
    if (flag == "pclmul") return x86_cpu_PCLMULQDQ;
    if (flag == "popcnt") return x86_cpu_POPCNT;
    throw std::invalid_argument("a flag that is not in this list");
}

}  // namespace
}  // namespace cleave

#define CLEAVE_CPU_HAS(flag) x86_cpu_active(feature_of(flag))
#else
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): the builtin takes literals only
#define CLEAVE_CPU_HAS(flag) __builtin_cpu_supports(flag)
#endif

namespace cleave {

// One row a kernel, the one to prefer first: CLEAVE_KERNEL(symbol, whether it runs here).
// Made from the add_kernel lines of CMakeLists.txt.
//
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): the rows are declarations here and code below
#define CLEAVE_KERNEL(symbol, runs_here) extern const Kernel symbol;
#include "kernel_rows.inc"
#undef CLEAVE_KERNEL

std::vector<const Kernel*> available_kernels() {
    std::vector<const Kernel*> kernels;
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): see above
#define CLEAVE_KERNEL(symbol, runs_here) \
    if (runs_here) kernels.push_back(&(symbol));
#include "kernel_rows.inc"
#undef CLEAVE_KERNEL
    return kernels;
}

std::vector<std::string_view> kernel_names() {
    std::vector<std::string_view> names;
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): see above
#define CLEAVE_KERNEL(symbol, runs_here) names.push_back((symbol).name);
#include "kernel_rows.inc"
#undef CLEAVE_KERNEL
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
    throw std::invalid_argument("no kernel '" + std::string(name) + "' on this machine; there are: " + names);
}

const Kernel& default_kernel() {
    const char* name = std::getenv("CLEAVE_KERNEL");
    return name != nullptr && *name != '\0' ? kernel_by_name(name) : *available_kernels().front();
}

}  // namespace cleave
