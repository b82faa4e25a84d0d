// Marks functions that compile for a GPU too: plain data, no standard containers, no exceptions, no allocation.
#pragma once

// CLEAVE_DEVICE_INLINE: one that is to be inlined wherever it is called.
#ifdef __CUDACC__
#define CLEAVE_DEVICE __host__ __device__
#define CLEAVE_DEVICE_INLINE __host__ __device__ __forceinline__
#else
#define CLEAVE_DEVICE
#define CLEAVE_DEVICE_INLINE [[gnu::always_inline]] inline
#endif
