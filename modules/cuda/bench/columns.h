// General operations on columns, which together make up the published example. Each creates a column or a mask from
// others, in the order of the device's stream. A null row stays null. In all of them, the columns must have the same
// number of rows. All of them throw ColumnTooLarge, CudaError and MemoryError.
#pragma once

#include <cstdint>
#include <string_view>

#include "cleave/memory.h"
#include "cuda/strings.h"

namespace cleave::cuda {

class Device;

// One byte per row: 1 or 0.
struct DeviceMask {
    Memory bytes;
    std::int32_t rows = 0;
};

// Whether the value is the text, byte for byte. 0 for a null. This and the functions below throw ArgumentError
// if the text has more than 60 bytes.
DeviceMask equals(Device& device, const StringsView& column, std::string_view text);
// Whether the value has any bytes. 0 for a null.
DeviceMask is_filled(Device& device, const StringsView& column);
// Clears the rows of `mask` where `other` is 0.
void keep_where(Device& device, DeviceMask& mask, const DeviceMask& other);

// The value where the mask is 1, `otherwise` where it is 0.
DeviceStrings choose(Device& device, const DeviceMask& mask, const StringsView& column, std::string_view otherwise);

// The part before the first `separator`, or the whole value if there is none.
DeviceStrings before_first(Device& device, const StringsView& column, char separator);
// The part after the first `separator`, or an empty value if there is none.
DeviceStrings after_first(Device& device, const StringsView& column, char separator);

// The characters from `begin` up to `end`, counted from 0, as features/redact/stage/characters.h counts them.
DeviceStrings slice(Device& device, const StringsView& column, std::uint32_t begin, std::uint32_t end);

// The values of `first` and `second`, joined by `between`. Null if either of them is null.
DeviceStrings concatenate(Device& device, const StringsView& first, std::string_view between,
                          const StringsView& second);

}  // namespace cleave::cuda
