// Replaces the compiler's header of this name, so that a kernel can run on machines without its instructions.
#pragma once

#define SIMDE_NO_NATIVE
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/clmul.h>

// SIMDe has no scalar instructions.
static inline long long _mm_popcnt_u64(unsigned long long bits) { return __builtin_popcountll(bits); }
