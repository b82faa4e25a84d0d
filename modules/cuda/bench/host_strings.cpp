#include "cuda/bench/host_strings.h"

#include <cstddef>
#include <limits>

#include "cuda/device.h"
#include "cuda/error.h"

namespace cleave::cuda {
namespace {

// Copies and waits, because the source is the caller's memory.
Memory copy_to_device(Device& device, const void* from, std::size_t size) {
    Memory memory = device.allocate(size);
    if (size == 0) return memory;
    check(cudaMemcpyAsync(memory.data(), from, size, cudaMemcpyHostToDevice, device.stream()), "cudaMemcpyAsync");
    device.wait();
    return memory;
}

template <class T>
std::vector<T> copy_to_host(Device& device, const T* from, std::size_t count) {
    std::vector<T> result(count);
    if (count == 0) return result;
    check(cudaMemcpyAsync(result.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost, device.stream()),
          "cudaMemcpyAsync");
    device.wait();
    return result;
}

}  // namespace

template <class Offset>
DeviceStrings to_device(Device& device, const std::vector<Offset>& offsets, const std::string& bytes) {
    DeviceStrings column;
    column.rows = static_cast<std::int32_t>(offsets.size() - 1);
    column.size = offsets.back();
    column.is_large = sizeof(Offset) > sizeof(std::int32_t);
    column.offsets = copy_to_device(device, offsets.data(), offsets.size() * sizeof(Offset));
    column.bytes = copy_to_device(device, bytes.data(), bytes.size());
    return column;
}

template <class Offset>
DeviceStrings to_device(Device& device, const std::vector<HostValue>& values) {
    if (values.size() > static_cast<std::size_t>(kMaxRows)) throw ColumnTooLarge("a column of too many rows");
    std::vector<Offset> offsets{0};
    std::vector<std::uint32_t> validity((values.size() + 31) / 32);
    std::string bytes;
    bool has_nulls = false;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i]) {
            bytes += *values[i];
            validity[i / 32] |= 1U << i % 32;
        }
        has_nulls = has_nulls || !values[i];
        if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<Offset>::max())) {
            throw ColumnTooLarge("a column of more than 2^31 - 1 bytes");
        }
        offsets.push_back(static_cast<Offset>(bytes.size()));
    }
    DeviceStrings column = to_device(device, offsets, bytes);
    if (has_nulls) {
        column.validity = copy_to_device(device, validity.data(), validity.size() * sizeof(std::uint32_t));
    }
    return column;
}

template DeviceStrings to_device<std::int32_t>(Device&, const std::vector<HostValue>&);
template DeviceStrings to_device<std::int64_t>(Device&, const std::vector<HostValue>&);
template DeviceStrings to_device(Device&, const std::vector<std::int32_t>&, const std::string&);
template DeviceStrings to_device(Device&, const std::vector<std::int64_t>&, const std::string&);

std::vector<HostValue> to_host(Device& device, const StringsView& column) {
    const auto rows = static_cast<std::size_t>(column.rows);
    std::vector<std::int64_t> offsets;
    if (column.large_offsets != nullptr) {
        offsets = copy_to_host(device, column.large_offsets, rows + 1);
    } else {
        const auto small = copy_to_host(device, column.offsets, rows + 1);
        offsets.assign(small.begin(), small.end());
    }
    const auto bytes = copy_to_host(device, column.bytes, static_cast<std::size_t>(column.size));
    const auto begin = static_cast<std::size_t>(column.validity_begin);
    const auto validity =
        copy_to_host(device, column.validity, column.validity != nullptr ? (begin + rows + 31) / 32 : 0);
    std::vector<HostValue> values(rows);
    for (std::size_t i = 0; i < rows; ++i) {
        if (!validity.empty() && (validity[(begin + i) / 32] >> (begin + i) % 32 & 1) == 0) continue;
        values[i].emplace(bytes.begin() + offsets[i], bytes.begin() + offsets[i + 1]);
    }
    return values;
}

}  // namespace cleave::cuda
