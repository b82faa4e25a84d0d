// The input of the benchmarks: 20 repeated rows, and the expected results.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/bench/host_strings.h"
#include "cuda/device.h"
#include "cuda/offsets.h"

namespace cleave::cuda {

struct Person {
    const char* name;
    const char* visibility;
    const char* redacted;
};

constexpr std::array<Person, 20> kPeople{
    {{"Maren Holt", "public", "H Maren"},    {"Isidro Vance", "private", "X X"},
     {"Tova Lindqvist", "public", "L Tova"}, {"Emeka Obi", "public", "O Emeka"},
     {"Priya Raman", "private", "X X"},      {"Cassius Dell", "public", "D Cassius"},
     {"Yuki Mori", "private", "X X"},        {"Odile Ferrand", "public", "F Odile"},
     {"Bram Kuiper", "private", "X X"},      {"Leocadia Ruiz", "public", "R Leocadia"},
     {"Noor Haddad", "private", "X X"},      {"Finnian Roe", "public", "R Finnian"},
     {"Zelda Marsh", "private", "X X"},      {"Anselm Grau", "public", "G Anselm"},
     {"Wren Abara", "private", "X X"},       {"Saskia Volkov", "public", "V Saskia"},
     {"Tomas Reyes", "private", "X X"},      {"Ingrid Solheim", "public", "S Ingrid"},
     {"Dov Ashkenazi", "private", "X X"},    {"Mirela Popa", "public", "P Mirela"}}};

// A column in host memory.
struct HostColumn {
    std::vector<std::int64_t> offsets{0};
    std::string bytes;
};

// The column is large only if it must be.
inline DeviceStrings to_device(Device& device, const HostColumn& column) {
    DeviceStrings made = to_device(device, column.offsets, column.bytes);
    if (column.bytes.size() <= kMaxColumnSize) set_large(device, made, false);
    device.wait();
    return made;
}

inline HostColumn repeat(const char* Person::*member, std::int64_t rows) {
    HostColumn column;
    column.offsets.reserve(static_cast<std::size_t>(rows) + 1);
    column.bytes.reserve(static_cast<std::size_t>(rows) * 12);
    for (std::int64_t i = 0; i < rows; ++i) {
        column.bytes += kPeople[static_cast<std::size_t>(i) % kPeople.size()].*member;
        column.offsets.push_back(static_cast<std::int64_t>(column.bytes.size()));
    }
    return column;
}

// `made` may become large.
inline bool is_right(Device& device, DeviceStrings& made, const HostColumn& expected) {
    if (static_cast<std::size_t>(made.rows) + 1 != expected.offsets.size() ||
        static_cast<std::size_t>(made.size) != expected.bytes.size() ||
        made.is_large != (expected.bytes.size() > device.small_limit())) {
        return false;
    }
    set_large(device, made, true);
    std::vector<std::int64_t> offsets(expected.offsets.size());
    std::string bytes(expected.bytes.size(), '\0');
    check(cudaMemcpyAsync(offsets.data(), made.offsets.data(), offsets.size() * sizeof(std::int64_t),
                          cudaMemcpyDeviceToHost, device.stream()),
          "cudaMemcpyAsync");
    check(cudaMemcpyAsync(bytes.data(), made.bytes.data(), bytes.size(), cudaMemcpyDeviceToHost, device.stream()),
          "cudaMemcpyAsync");
    device.wait();
    return offsets == expected.offsets && bytes == expected.bytes;
}

// Overwrites memory that is about to be reused, so that an old result cannot be mistaken for a new one.
inline void soil(Device& device, const StringsView& names) {
    const auto rows = static_cast<std::size_t>(names.rows);
    const std::array<Memory, 2> used{device.allocate(rows * 4 + 4),
                                     device.allocate(static_cast<std::size_t>(names.size) + 3 * rows)};
    for (const Memory& memory : used) {
        check(cudaMemsetAsync(memory.data(), 0xEE, memory.size(), device.stream()), "cudaMemsetAsync");
    }
    device.wait();
}

}  // namespace cleave::cuda
