// The published example, see public_name.h, in the forms that are compared with each other. All give the same column.
#pragma once

#include <cstddef>

#include "cuda/strings.h"

namespace cleave::cuda {

class Device;

// Composed of the operations of columns.h. Thirteen launches, and eight columns and masks in between.
DeviceStrings redact_composed(Device& device, const StringsView& names, const StringsView& visibilities);

// One kernel that allocates each value by malloc() on the device; then the values are gathered and freed. Throws
// MemoryError if the heap is too small: see reserve_heap().
DeviceStrings redact_with_malloc(Device& device, const StringsView& names, const StringsView& visibilities);
// Sets the size of the heap of malloc(), in bytes. Called before the first kernel that uses malloc(). Throws CudaError.
void reserve_heap(std::size_t size);

// One kernel that writes each value into working memory of the size of the names and 3 bytes a row; then the values are
// gathered.
DeviceStrings redact_with_working_memory(Device& device, const StringsView& names, const StringsView& visibilities);

// The functor, in one pass into working memory of the most that the result may have, and a second pass that copies it
// to memory of its size. Without working memory, the first pass measures, and the second writes.
DeviceStrings redact_in_two_passes(Device& device, const StringsView& names, const StringsView& visibilities);
// The functor, in one pass. The result has memory for the most that it may have.
DeviceStrings redact_in_one_pass(Device& device, const StringsView& names, const StringsView& visibilities);

}  // namespace cleave::cuda
