// Finds the fields of a page of CSV in device memory; parse_kernel.h explains how.
#pragma once

#include <cstdint>
#include <optional>

#include "cleave/field_row.h"
#include "cleave/memory.h"
#include "cuda/device.h"
#include "features/redact/stage/parse_markup.h"

namespace cleave::cuda {

constexpr std::uint32_t kTileSize = 16384;  // bytes per block of threads
constexpr std::uint32_t kMaxPageSize = (1U << 30) - 1;

// Like RecordBlock::ends and RecordBlock::rows, but in device memory.
struct DeviceFields {
    Memory ends;  // of std::uint32_t
    Memory rows;  // of FieldRow
    std::uint32_t end_count = 0;
    std::uint32_t row_count = 0;  // one more than there are records

    const std::uint32_t* end_data() const { return reinterpret_cast<const std::uint32_t*>(ends.data()); }
    const FieldRow* row_data() const { return reinterpret_cast<const FieldRow*>(rows.data()); }
};

// An estimate of how many fields and records a page has, given its size. It determines how much memory is allocated. A
// page that has more is read twice.
struct ParseGuess {
    double ends_per_byte = 0.25;
    double rows_per_byte = 0.05;
};

// Finds the fields of `size` bytes of whole records, without a byte order mark. `bytes` is device memory that is
// aligned to 16 bytes and readable up to `size` rounded up to a multiple of 64. Waits for the device. Returns
// std::nullopt if the page is odd. The CPU then has to read it, and either finds the fault or carries on. Updates
// `guess` with what was found. Throws ArgumentError for more than kMaxPageSize bytes, CudaError and
// MemoryError.
std::optional<DeviceFields> parse(Device& device, const ParseMarkup& markup, const std::uint8_t* bytes,
                                  std::uint64_t size, ParseGuess& guess);

}  // namespace cleave::cuda
