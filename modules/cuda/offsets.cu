#include "cuda/offsets.h"

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <utility>

#include "cuda/device.h"
#include "cuda/error.h"

namespace cleave::cuda {
namespace {

constexpr unsigned kThreads = 256;

template <class To, class From>
__global__ void convert_kernel(const From* from, To* to, std::int64_t count) {
    const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
    if (i < count) to[i] = static_cast<To>(from[i]);
}

template <class To, class From>
void convert(Device& device, DeviceStrings& column) {
    const std::int64_t count = std::int64_t{column.rows} + 1;
    Memory made = device.allocate(static_cast<std::size_t>(count) * sizeof(To));
    device.launch(&convert_kernel<To, From>, static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads, 0,
                  reinterpret_cast<const From*>(column.offsets.data()), reinterpret_cast<To*>(made.data()), count);
    column.offsets = std::move(made);
}

}  // namespace

void set_large(Device& device, DeviceStrings& column, bool is_large) {
    if (is_large == column.is_large) return;
    if (is_large) {
        convert<std::int64_t, std::int32_t>(device, column);
    } else {
        if (static_cast<std::uint64_t>(column.size) > device.small_limit()) {
            throw ColumnTooLarge("a column of " + std::to_string(column.size) + " bytes needs 64-bit offsets");
        }
        convert<std::int32_t, std::int64_t>(device, column);
    }
    column.is_large = is_large;
}

}  // namespace cleave::cuda
