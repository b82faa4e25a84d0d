// Hands columns over to other programs and takes columns from them without copying, through the Arrow C device data
// interface (https://arrow.apache.org/docs/format/CDeviceDataInterface.html). The structs are in gpu_columns.h.
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
    kBinary,  // format "z", or "Z" if the column is large
    kUtf8,    // format "u" or "U"; the caller guarantees that all values are UTF-8
};

// Hands over a column. Precondition: the card of `device` is the current CUDA device. The array owns the memory and an
// event recorded on the stream of `device`. The recipient must wait for the event before it reads the array, and for
// its own work on the array before it releases it. Any thread may release the array, even after `device` and its stream
// are gone: the release waits for the event and returns the memory to its manager. `schema` and `array` are overwritten
// only once everything has succeeded; both must be released. Throws CudaError.
void export_strings(Device& device, DeviceStrings column, StringsType type, ArrowSchema* schema,
                    ArrowDeviceArray* array);

// A column that another program handed over. Movable. Releases the array once, when it is destroyed.
class ImportedStrings {
public:
    // Holds no column.
    ImportedStrings() = default;
    ImportedStrings(ImportedStrings&& other) noexcept;
    ImportedStrings& operator=(ImportedStrings&& other) noexcept;
    ~ImportedStrings();

    // For work on the stream of the importing device. Valid for as long as this object holds the array.
    const StringsView& view() const noexcept { return view_; }
    // Waits for all work on that stream, then releases the array. The stream must still exist.
    void release() noexcept;

private:
    friend ImportedStrings import_strings(Device& device, const ArrowSchema& schema, ArrowDeviceArray& array);

    ArrowArray array_{};
    StringsView view_;
    Memory no_offsets_;  // stands in for the offsets of an array without rows
    cudaStream_t stream_ = nullptr;
    int card_ = 0;
};

// Takes over a column. Precondition: the card of `device` is the current CUDA device. The stream of `device` waits for
// the event of the array, and this function waits for the stream because it reads two offsets. The array is moved, and
// its release is set to null; the caller keeps the schema and, if this throws, the array too.
//
// Accepts the formats "z", "u", "Z" and "U" in CUDA memory of the same card, with any offset. Throws ArgumentError for
// anything else, and for members that contradict each other or the layout; ColumnTooLarge for too many rows or bytes;
// CudaError and MemoryError. The offsets between the first and the last are trusted, as the interface specifies. The
// 4-byte words that contain the bitmap must be readable; CUDA memory begins and ends between such words.
ImportedStrings import_strings(Device& device, const ArrowSchema& schema, ArrowDeviceArray& array);

}  // namespace cleave::cuda
