// The functions of cleave_scan.h that read bytes, for any kernel. Allocates nothing and throws nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cleave/cleave_scan.h"
#include "core/kernels/kernel.h"

namespace cleave {

// As the functions of cleave_scan.h that have these parameters.
std::int32_t scan_bytes(const Kernel& kernel, const cleave_scan_dialect& wanted, cleave_scan_state& state,
                        std::span<const std::uint8_t> bytes, cleave_scan_counts& counts) noexcept;
std::size_t find_starts(const Kernel& kernel, const cleave_scan_dialect& wanted, cleave_scan_state& state,
                        std::span<const std::uint8_t> bytes, std::span<std::uint64_t> out) noexcept;
std::int32_t summarise_bytes(const Kernel& kernel, const cleave_scan_dialect& wanted, std::uint64_t begin,
                             std::span<const std::uint8_t> bytes, cleave_scan_summary& summary) noexcept;

}  // namespace cleave
