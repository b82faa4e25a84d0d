#include "rows/memory/value_buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cleave {

ValueBuffer::ValueBuffer(std::shared_ptr<MemoryManager> manager) : manager_(std::move(manager)) {}

void ValueBuffer::reserve(std::size_t size) {
    if (size <= memory_.size()) return;
    constexpr std::size_t kGranule = std::size_t{64} << 10;
    const std::size_t wanted = std::max({size, memory_.size() * 2, kGranule});
    const std::size_t rounded = wanted > SIZE_MAX - kGranule ? wanted : (wanted + kGranule - 1) / kGranule * kGranule;
    Memory larger = manager_->allocate({.size = rounded, .flags = CLEAVE_MEMORY_SECRET});
    if (memory_.size() > 0) std::memcpy(larger.data(), memory_.data(), memory_.size());
    memory_ = std::move(larger);
}

}  // namespace cleave
