// CUDA on a CPU, for tests: the parts of CUDA that the kernels of this module and the code around them use, under the
// same names and in a header of the same name. The sources of the module compile against it unchanged.
//
// Each CUDA thread is a fiber with its own stack. All fibers run on one system thread; emulator.cpp switches between
// them at barriers, exchanges within a warp, atomic operations and words that blocks pass to each other. The next fiber
// is chosen at random from a seed, so that a missing barrier gives a wrong result for nearly every seed. A few blocks
// run at once and take turns, so that they overtake each other as on a device. Memory and shared memory initially
// contain garbage, asynchronous copies happen as late as they are allowed to, and both kinds of memory have guards at
// their ends.
//
// Launches that a device would refuse are refused here too.
//
// A test aborts with a message if a kernel does something that is undefined on a device: a barrier that some threads of
// the block do not reach, an exchange in which lanes of its mask do not take part, or waiting forever.
//
// The functions that the host calls are in cuda_host.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <tuple>
#include <utility>

// NOLINTBEGIN: the names are CUDA's
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __constant__

struct dim3 {
    unsigned x = 1;
    unsigned y = 1;
    unsigned z = 1;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

// Where a value matters, it is the same as in the real header.
enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInsufficientDriver = 35,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700,
    cudaErrorHostMemoryAlreadyRegistered = 712,
    cudaErrorHostMemoryNotRegistered = 713,
    cudaErrorNotSupported = 801
};
// NOLINTEND

#include "cuda_host.h"

// NOLINTBEGIN
struct cudaLaunchAttribute;
struct cudaLaunchConfig_t {
    dim3 gridDim;
    dim3 blockDim;
    std::size_t dynamicSmemBytes = 0;
    cudaStream_t stream = nullptr;
    cudaLaunchAttribute* attrs = nullptr;
    unsigned numAttrs = 0;
};
namespace cleave::cuda::emulator {

// Where the running fiber is in its grid.
struct Place {
    dim3 thread;
    dim3 block;
    dim3 block_size;
    dim3 grid_size;
};
const Place& place() noexcept;

// Determines the order of execution from now on.
void set_seed(std::uint64_t seed) noexcept;
// Whether all blocks of a grid run at the same time. If not set, this applies to about every second grid.
void set_all_at_once(bool is_set) noexcept;
// Multiprocessors of the device, initially 3. The emulator claims that each runs two blocks of any kernel.
void set_processors(int count) noexcept;
int processors() noexcept;
// Kernels launched so far.
std::size_t launches() noexcept;

// The maximum dynamic shared memory for launches of the kernel; initially 48 KiB.
cudaError_t set_shared_limit(const void* kernel, int size);
// An error if a device would refuse the launch: no blocks, no threads, too many of either, too much shared memory.
cudaError_t check_launch(const cudaLaunchConfig_t& config, const void* kernel);
void run_grid(const cudaLaunchConfig_t& config, const std::function<void()>& thread);

void block_barrier();
// Exchanges `value` with the lanes of the mask. Returns the values of all 32 lanes; values outside the mask are unset.
// They remain valid until the second exchange after this one.
const std::uint64_t* exchange(unsigned mask, std::uint64_t value, const char* kind);
unsigned lane() noexcept;
// Lets other fibers run.
void pause() noexcept;
// The same, while waiting for other fibers to do something.
void wait_a_turn() noexcept;

std::uint8_t* block_memory() noexcept;
void copy_16_async(std::uint8_t* to, const std::uint8_t* from);
void end_copy_group();
void wait_for_copies(int pending);

template <class T>
std::uint64_t to_word(T value) {
    static_assert(sizeof(T) <= 8);
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof(T));
    return word;
}

template <class T>
T from_word(std::uint64_t word) {
    T value;
    std::memcpy(&value, &word, sizeof(T));
    return value;
}

template <class T>
T shuffle(unsigned mask, T value, unsigned source, const char* kind) {
    const std::uint64_t* const values = exchange(mask, to_word(value), kind);
    if ((mask >> source & 1) == 0) std::abort();  // the lane is not in the mask
    return from_word<T>(values[source]);
}

}  // namespace cleave::cuda::emulator

namespace cleave::cuda::emulator {

// threadIdx and so on: each use looks up where the fiber is.
template <dim3 Place::*kMember>
struct Coordinate {
    operator unsigned() const noexcept { return (place().*kMember).x; }
};
template <dim3 Place::*kMember>
struct Coordinates {
    Coordinate<kMember> x;
};

}  // namespace cleave::cuda::emulator

inline constexpr cleave::cuda::emulator::Coordinates<&cleave::cuda::emulator::Place::thread> threadIdx{};
inline constexpr cleave::cuda::emulator::Coordinates<&cleave::cuda::emulator::Place::block> blockIdx{};
inline constexpr cleave::cuda::emulator::Coordinates<&cleave::cuda::emulator::Place::block_size> blockDim{};
inline constexpr cleave::cuda::emulator::Coordinates<&cleave::cuda::emulator::Place::grid_size> gridDim{};

inline void __syncthreads() { cleave::cuda::emulator::block_barrier(); }
inline void __syncwarp(unsigned mask = ~0U) { cleave::cuda::emulator::exchange(mask, 0, "syncwarp"); }
inline void __threadfence() { cleave::cuda::emulator::pause(); }

template <class T>
T __shfl_sync(unsigned mask, T value, int source) {
    return cleave::cuda::emulator::shuffle(mask, value, static_cast<unsigned>(source) & 31, "shfl");
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance) {
    const unsigned lane = cleave::cuda::emulator::lane();
    return cleave::cuda::emulator::shuffle(mask, value, lane >= distance ? lane - distance : lane, "shfl_up");
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance) {
    const unsigned lane = cleave::cuda::emulator::lane();
    return cleave::cuda::emulator::shuffle(mask, value, lane + distance < 32 ? lane + distance : lane, "shfl_down");
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes) {
    const unsigned lane = cleave::cuda::emulator::lane();
    return cleave::cuda::emulator::shuffle(mask, value, lane ^ static_cast<unsigned>(lanes), "shfl_xor");
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
    const std::uint64_t* const values = cleave::cuda::emulator::exchange(mask, predicate != 0 ? 1 : 0, "ballot");
    unsigned result = 0;
    for (unsigned i = 0; i < 32; ++i) {
        if ((mask >> i & 1) != 0 && values[i] != 0) result |= 1U << i;
    }
    return result;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0 ? 1 : 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) == mask ? 1 : 0; }

inline int __ffs(unsigned word) { return __builtin_ffs(static_cast<int>(word)); }
// A thread may find itself alone, because nothing guarantees which lanes run together.
inline unsigned __activemask() { return 1U << cleave::cuda::emulator::lane(); }
inline unsigned __match_any_sync(unsigned mask, unsigned) { return mask; }
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
    for (unsigned shift = 0; shift < 32; shift += 8) sum += (a >> shift & 255) * (b >> shift & 255);
    return sum;
}
inline int __popc(unsigned word) { return __builtin_popcount(word); }
inline int __clz(unsigned word) { return word == 0 ? 32 : __builtin_clz(word); }
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>(((std::uint64_t{high} << 32) | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>(((std::uint64_t{high} << 32) | low) >> (shift & 31));
}
template <class T>
T __ldg(const T* at) {
    return *at;
}

template <class T, class U>
T atomicAdd(T* at, U value) {
    cleave::cuda::emulator::pause();
    const T old = *at;
    *at = static_cast<T>(old + static_cast<T>(value));
    return old;
}
template <class T, class U>
T atomicOr(T* at, U value) {
    cleave::cuda::emulator::pause();
    const T old = *at;
    *at = old | static_cast<T>(value);
    return old;
}

template <class... P>
cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), cudaFuncAttribute, int value) {
    return cleave::cuda::emulator::set_shared_limit(reinterpret_cast<const void*>(kernel), value);
}
template <class... P>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* count, void (*)(P...), int, std::size_t) {
    *count = 2;
    return cudaSuccess;
}
template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(P...), A&&... arguments) {
    cudaError_t error = cleave::cuda::emulator::check_launch(*config, reinterpret_cast<const void*>(kernel));
    if (error == cudaSuccess) error = cleave::cuda::emulator::begin_launch(config->stream);
    if (error != cudaSuccess) return error;
    const std::tuple<P...> given(std::forward<A>(arguments)...);
    cleave::cuda::emulator::run_grid(*config, [&] { std::apply(kernel, given); });
    return cudaSuccess;
}
// NOLINTEND
