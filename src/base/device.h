// Marks functions that compile for a GPU too: plain data, no standard containers, no exceptions, no allocation.
#pragma once

#ifdef __CUDACC__
#define CLEAVE_DEVICE __host__ __device__
#else
#define CLEAVE_DEVICE
#endif
