// Columns handed over to other programs and taken from them without a copy, by the Arrow C device data interface
// (https://arrow.apache.org/docs/format/CDeviceDataInterface.html). gpu_columns.h has the structs.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cleave/memory.h"
#include "cuda/gpu_columns.h"
#include "cuda/strings.h"

namespace cleave::cuda {

class Device;

// The Arrow type of a column.
enum class StringsType : std::uint8_t {
    kBinary,  // format "z"
    kUtf8,    // format "u"; the caller knows that all values are UTF-8
};

// Hands a column over. The current device of CUDA is that of `device`. The array owns the memory, and an event that was
// recorded on the stream of `device`. Whoever reads the array waits for the event first, and waits for his own work
// before he releases the array. Any thread may release it, also after `device` and its stream are gone: the release
// waits for the event, and gives the memory back to its manager. `schema` and `array` are overwritten, and not before
// everything has succeeded; both are to be released. Throws CudaError.
void export_strings(Device& device, DeviceStrings column, StringsType type, ArrowSchema* schema,
                    ArrowDeviceArray* array);

// A column that another program handed over. Movable. The array is released with it, once.
class ImportedStrings {
public:
    // No column.
    ImportedStrings() = default;
    ImportedStrings(ImportedStrings&& other) noexcept;
    ImportedStrings& operator=(ImportedStrings&& other) noexcept;
    ~ImportedStrings();

    // For work on the stream of the device that imported it. Valid as long as this object has the array.
    const StringsView& view() const noexcept { return view_; }
    // Waits until that stream has done everything, and releases the array. The stream must still exist.
    void release() noexcept;

private:
    friend ImportedStrings import_strings(Device& device, const ArrowSchema& schema, ArrowDeviceArray& array);

    ArrowArray array_{};
    StringsView view_;
    Memory no_offsets_;  // in place of the offsets of an array without rows
    cudaStream_t stream_ = nullptr;
    int card_ = 0;
};

// Takes a column over. The current device of CUDA is that of `device`. The stream of `device` waits for the event of
// the array, and this function for the stream: it reads two offsets. The array is moved, and its release set to null;
// the schema stays the caller's. If this throws, the array stays the caller's too.
//
// Taken are the formats "z" and "u" in memory of CUDA on the same card, with any offset. Throws std::invalid_argument
// for everything else, and for members that contradict each other or the layout; ColumnTooLarge for too many rows;
// CudaError and MemoryError. The offsets between the first and the last one are trusted, as the interface has it. The
// words of 4 bytes in which the bitmap lies must be readable; memory of CUDA begins and ends between such words.
ImportedStrings import_strings(Device& device, const ArrowSchema& schema, ArrowDeviceArray& array);

}  // namespace cleave::cuda
