// Finds the fields of a page of CSV in device memory; parse_kernel.h says how.
#pragma once

#include <cstdint>
#include <optional>

#include "cleave/field_row.h"
#include "cleave/memory.h"
#include "cuda/device.h"
#include "stage/parse_markup.h"

namespace cleave::cuda {

constexpr std::uint32_t kTileSize = 16384;  // bytes that a block of threads takes
constexpr std::uint32_t kMaxPageSize = (1U << 30) - 1;

// As RecordBlock::ends and RecordBlock::rows, in device memory.
struct DeviceFields {
    Memory ends;  // of std::uint32_t
    Memory rows;  // of FieldRow
    std::uint32_t end_count = 0;
    std::uint32_t row_count = 0;  // of records, and one

    const std::uint32_t* end_data() const { return reinterpret_cast<const std::uint32_t*>(ends.data()); }
    const FieldRow* row_data() const { return reinterpret_cast<const FieldRow*>(rows.data()); }
};

// How many fields and records a page may have, for its size, before its memory is allocated. A page that has more is
// read twice.
struct ParseGuess {
    double ends_per_byte = 0.25;
    double rows_per_byte = 0.05;
};

// Finds the fields of `size` bytes, which begin and end with a record (without a byte order mark). `bytes` is device
// memory at a multiple of 16, of which `size` rounded up to a multiple of 64 may be read. Waits for the device. Returns
// nothing if the page is odd: the CPU has to read it, and either finds the fault or reads on. `guess` is improved by
// what was found. Throws std::invalid_argument for more than kMaxPageSize bytes, CudaError and MemoryError.
std::optional<DeviceFields> parse(Device& device, const ParseMarkup& markup, const std::uint8_t* bytes,
                                  std::uint64_t size, ParseGuess& guess);

}  // namespace cleave::cuda
