// Marks functions that also compile for a GPU. They work on plain data, without standard containers, exceptions or
// allocation.
#pragma once

// CLEAVE_DEVICE_INLINE marks a function that is inlined at every call.
#ifdef __CUDACC__
#define CLEAVE_DEVICE __host__ __device__
#define CLEAVE_DEVICE_INLINE __host__ __device__ __forceinline__
#else
#define CLEAVE_DEVICE
#define CLEAVE_DEVICE_INLINE [[gnu::always_inline]] inline
#endif
