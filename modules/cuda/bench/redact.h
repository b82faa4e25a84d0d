// The variants of the published example (see public_name.h) that are compared. All produce the same column.
#pragma once

#include <cstddef>

#include "cuda/strings.h"

namespace cleave::cuda {

class Device;

// Composed from the operations of columns.h, with thirteen launches and eight intermediate columns and masks.
DeviceStrings redact_composed(Device& device, const StringsView& names, const StringsView& visibilities);

// One kernel that allocates each value with malloc() on the device; then the values are gathered and freed. Throws
// MemoryError if the heap is too small: see reserve_heap().
DeviceStrings redact_with_malloc(Device& device, const StringsView& names, const StringsView& visibilities);
// Sets the size in bytes of the heap for malloc(). Call before the first kernel that uses malloc(). Throws CudaError.
void reserve_heap(std::size_t size);

// One kernel that writes each value into working memory as large as the names plus 3 bytes per row; then the values are
// gathered.
DeviceStrings redact_with_working_memory(Device& device, const StringsView& names, const StringsView& visibilities);

// The functor, in one pass into working memory of the result's maximum size, and a second pass that copies it to memory
// of its exact size. If there is not enough working memory, the first pass measures and the second writes.
DeviceStrings redact_in_two_passes(Device& device, const StringsView& names, const StringsView& visibilities);
// The functor, in one pass. The result has memory for its maximum size.
DeviceStrings redact_in_one_pass(Device& device, const StringsView& names, const StringsView& visibilities);

}  // namespace cleave::cuda
