#include "kernels_under_test.h"

#include <algorithm>

namespace cleave {

#ifdef CLEAVE_EMULATED_AVX512
extern const Kernel kEmulatedAvx512Kernel;
#endif
#ifdef CLEAVE_EMULATED_NEON
extern const Kernel kEmulatedNeonKernel;
#endif
#ifdef CLEAVE_EMULATED_WASM
extern const Kernel kEmulatedWasmKernel;
#endif

namespace test {

std::vector<const Kernel*> kernels_under_test() {
    std::vector<const Kernel*> kernels = available_kernels();
#ifdef CLEAVE_EMULATED_AVX512
    kernels.push_back(&kEmulatedAvx512Kernel);
#endif
#ifdef CLEAVE_EMULATED_NEON
    kernels.push_back(&kEmulatedNeonKernel);
#endif
#ifdef CLEAVE_EMULATED_WASM
    kernels.push_back(&kEmulatedWasmKernel);
#endif
#ifdef __SANITIZE_THREAD__
    kernels.resize(1);  // kernels do not start threads
#endif
    return kernels;
}

std::string unique_name(const Kernel* kernel) {
    const std::vector<const Kernel*> available = available_kernels();
    const bool emulated = std::ranges::find(available, kernel) == available.end();
    return (emulated ? "emulated_" : "") + std::string(kernel_name(*kernel));
}

Markup markup_under_test(const Dialect& dialect) {
    EscapeUse use = EscapeUse::kNone;
    if (dialect.escape) {
        use = dialect.escape_scope == EscapeScope::kEverywhere ? EscapeUse::kEverywhere : EscapeUse::kQuoted;
    }
    const char terminator = dialect.terminator == Terminator::kCr ? '\r' : '\n';
    return {.quote = dialect.quote.value_or(0),
            .delimiter = dialect.delimiter,
            .escape = dialect.escape.value_or(0),
            .terminator = static_cast<std::uint8_t>(terminator),
            .variant = variant_of(dialect.quote.has_value(), dialect.terminator == Terminator::kAny, use)};
}

}  // namespace test
}  // namespace cleave
