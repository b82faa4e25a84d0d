#include "core/kernels/kernel_list.h"

#include <cstdint>
#include <string_view>

// CLEAVE_CPU_HAS(flag): whether the processor and the operating system support the instructions that the compiler may
// use with "-m" plus that flag. glibc knows this, because it queries the processor (CPUID) when the program is loaded.
// In a virtual machine each query takes microseconds: with __builtin_cpu_supports(), the queries took a twentieth of
// the time of a run on a small file. Without glibc, three queries are made here. The builtin is not used, because it
// relies on code that a linker may leave out, and then reports no flags.
#if __has_include(<sys/platform/x86.h>) && !defined(__clang__)  // the header uses _Bool, which Clang does not know
#include <sys/platform/x86.h>
#elif defined(__x86_64__)
#include <cpuid.h>
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
    if (flag == "erms") return x86_cpu_ERMS;
    if (flag == "pclmul") return x86_cpu_PCLMULQDQ;
    if (flag == "popcnt") return x86_cpu_POPCNT;
    __builtin_unreachable();  // the compiler, which evaluates this, refuses any other flag
}

}  // namespace
}  // namespace cleave

#define CLEAVE_CPU_HAS(flag) x86_cpu_active(feature_of(flag))
#elif defined(__x86_64__)

namespace cleave {
namespace {

// Where CPUID reports a flag, and which parts of the register state the operating system must save for it (bits of
// XCR0). Source: Intel, "64 and IA-32 Architectures Software Developer's Manual", volume 1, 13.3 and 14.3 to 15.2;
// volume 2, CPUID.
struct Feature {
    enum class Register : std::uint8_t { kLeaf1Ecx, kLeaf7Ebx, kLeaf7Ecx };
    Register in;
    unsigned bit;
    std::uint32_t state;
};

consteval Feature feature_of(std::string_view flag) {
    using enum Feature::Register;
    constexpr std::uint32_t kAvx = 0x06;     // 128-bit and 256-bit registers
    constexpr std::uint32_t kAvx512 = 0xE6;  // 512-bit and mask registers too
    if (flag == "avx2") return {kLeaf7Ebx, 5, kAvx};
    if (flag == "avx512f") return {kLeaf7Ebx, 16, kAvx512};
    if (flag == "avx512bw") return {kLeaf7Ebx, 30, kAvx512};
    if (flag == "avx512vbmi2") return {kLeaf7Ecx, 6, kAvx512};
    if (flag == "avx512vl") return {kLeaf7Ebx, 31, kAvx512};
    if (flag == "avx512vpopcntdq") return {kLeaf7Ecx, 14, kAvx512};
    if (flag == "bmi") return {kLeaf7Ebx, 3, 0};
    if (flag == "bmi2") return {kLeaf7Ebx, 8, 0};
    if (flag == "erms") return {kLeaf7Ebx, 9, 0};
    if (flag == "pclmul") return {kLeaf1Ecx, 1, 0};
    if (flag == "popcnt") return {kLeaf1Ecx, 23, 0};
    __builtin_unreachable();  // as above
}

struct Processor {
    std::uint32_t registers[3] = {};  // indexed by Feature::Register
    std::uint32_t state = 0;

    Processor() noexcept {
        constexpr unsigned kSavesState = 27;  // the operating system uses XSAVE, so XGETBV may be executed
        std::uint32_t eax = 0;
        std::uint32_t ebx = 0;
        std::uint32_t ecx = 0;
        std::uint32_t edx = 0;
        if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return;
        registers[0] = ecx;
        if ((ecx >> kSavesState & 1) != 0) {
            std::uint32_t high = 0;
            __asm__("xgetbv" : "=a"(state), "=d"(high) : "c"(0));
        }
        if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return;
        registers[1] = ebx;
        registers[2] = ecx;
    }
};

// Set when the program is loaded: a constant inside a function has a guard, which needs a C++ library.
const Processor kProcessor;

bool has(const Feature& feature) {
    const std::uint32_t found = kProcessor.registers[static_cast<std::size_t>(feature.in)];
    return (found >> feature.bit & 1) != 0 && (kProcessor.state & feature.state) == feature.state;
}

}  // namespace
}  // namespace cleave

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): feature_of() is evaluated at compile time
#define CLEAVE_CPU_HAS(flag) has(feature_of(flag))
#else
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): as above
#define CLEAVE_CPU_HAS(flag) false
#endif

namespace cleave {

// One row per kernel, with the preferred ones first: CLEAVE_KERNEL(symbol, whether it runs here). Generated from the
// add_kernel lines in CMakeLists.txt.
//
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): the rows are declarations here and elements of an array below
#define CLEAVE_KERNEL(symbol, runs_here) extern const Kernel symbol;
#include "kernel_rows.inc"
#undef CLEAVE_KERNEL

std::span<const KernelRow> kernel_rows() noexcept {
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): see above
#define CLEAVE_KERNEL(symbol, runs_here) {&(symbol), [] { return bool(runs_here); }},
    static constexpr KernelRow kRows[] = {
#include "kernel_rows.inc"
    };
#undef CLEAVE_KERNEL
    return kRows;
}

// Of the processors with BMI2, exactly those with a fast PDEP also have ERMS, which has nothing to do with it.
bool deposits_fast() noexcept { return CLEAVE_CPU_HAS("erms"); }

const Kernel& preferred_kernel() noexcept {
    const KernelRow* row = kernel_rows().data();
    while (!row->runs_here()) ++row;  // the last one runs everywhere
    return *row->kernel;
}

}  // namespace cleave
