// Replaces the compiler's header of this name, so that a kernel can run on machines without its instructions.
#pragma once

#define SIMDE_NO_NATIVE
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/clmul.h>

// SIMDe has no scalar instructions.
static inline long long _mm_popcnt_u64(unsigned long long bits) { return __builtin_popcountll(bits); }
static inline unsigned long long _tzcnt_u64(unsigned long long bits) {
    return bits == 0 ? 64 : static_cast<unsigned long long>(__builtin_ctzll(bits));
}
static inline unsigned long long _pdep_u64(unsigned long long from, unsigned long long mask) {
    unsigned long long bits = 0;
    for (; mask != 0; mask &= mask - 1, from >>= 1) bits |= (from & 1) != 0 ? mask & -mask : 0;
    return bits;
}
